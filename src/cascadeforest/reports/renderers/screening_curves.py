"""Which test rows leave a cascade at which level, and what becomes of the others (cs-fig4).

Panel (a): rows that left up to a level, and those of them that are predicted right. Panel (b): rows that go on after a
level, and those of them that are right by this level's prediction and by the next level's. Below stand the numbers that
the paper's text gives. ``options: {screening: column, against: column}`` names the cascade and the one without
screening that it is compared with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cascadeforest.data.errors import ConfigError, UserError
from cascadeforest.reports.figure import BLACK, BLUE, GREY, ORANGE, WIDTH, Figure, write_words
from cascadeforest.reports.notes import budget_note, data_notes, published_note
from cascadeforest.reports.printed_numbers import Published
from cascadeforest.reports.results import Results
from cascadeforest.reports.table import Table
from cascadeforest.reports.tables import score_rows
from cascadeforest.reports.tidy import OK, UNAVAILABLE, TidyRow
from cascadeforest.reports.view import (
    NOT_PRINTED,
    PUBLISHED,
    REPRODUCED,
    Cell,
    Row,
    TableView,
    number_text,
    printed_text,
    without_source,
)

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

EXTRA = "layer_decisions"
NOBODY = "nobody left early"
#: Inches that the panels of one data set are high, words in their place, and the legend.
_HEIGHT, _EMPTY_HEIGHT, _LEGEND_HEIGHT = 2.6, 0.75, 0.75
#: Up to so many bars each says what it stands for.
_N_LABELLED_BARS = 6
_BAR, _BAR_COLOUR = 0.66, "#CFD3D8"
#: A published share stands so far beside its bar, clear of the words above it.
_BESIDE = 0.15


@dataclass(frozen=True)
class Screening:
    """Counts of test rows at each level but the last, where everybody leaves.

    Parameters
    ----------
    n_test, n_levels : int
        Test rows, levels of the cascade.
    screened, screened_correct : tuple of int
        Rows that left at this level or before, and those of them whose prediction is right.
    remaining, correct_now, correct_next : tuple of int
        Rows that go on, those of them that this level predicts right, and the next one.
    n_correct : int
        Rows that the whole cascade predicts right.
    """

    n_test: int
    n_levels: int
    screened: tuple[int, ...]
    screened_correct: tuple[int, ...]
    remaining: tuple[int, ...]
    correct_now: tuple[int, ...]
    correct_next: tuple[int, ...]
    n_correct: int


def count_screened(staged: np.ndarray, level: np.ndarray, y: np.ndarray) -> Screening:
    """Count rows by level.

    Parameters
    ----------
    staged : ndarray of shape (n_levels, n_test)
        Predicted classes if the cascade ended at each level; rows that left keep theirs.
    level : ndarray of shape (n_test,)
        Level, from 0, that decided each row.
    y : ndarray of shape (n_test,)
        True classes.

    Returns
    -------
    Screening
    """
    right = staged == y
    counts: dict[str, list[int]] = {name: [] for name in CURVES}
    for k in range(len(staged) - 1):
        left, goes_on = level <= k, level > k
        counts["screened"].append(int(left.sum()))
        counts["screened_correct"].append(int(right[k][left].sum()))
        counts["remaining"].append(int(goes_on.sum()))
        counts["correct_now"].append(int(right[k][goes_on].sum()))
        counts["correct_next"].append(int(right[k + 1][goes_on].sum()))
    return Screening(
        len(y), len(staged), **{name: tuple(c) for name, c in counts.items()}, n_correct=int(right[-1].sum())
    )


#: The drawn series, as fields of `Screening` and as metrics of the figure's CSV.
CURVES = ("screened", "screened_correct", "remaining", "correct_now", "correct_next")


@dataclass(frozen=True)
class _Panel:
    """One data set: what was counted, or why there is nothing."""

    dataset: str
    counts: Screening | None
    reason: str
    facts: dict[tuple[str, str, str], TidyRow]


def render(experiment: Mapping[str, Any], results: Results) -> Table:
    """Count, and make picture and table.

    Parameters
    ----------
    experiment : mapping
        One experiment of the plan.
    results : Results
        Its cells and the arrays that they saved under `EXTRA`.

    Returns
    -------
    Table
        With the figure.

    Raises
    ------
    ConfigError
        If the options name no columns.
    UserError
        If a cell's arrays are missing, or those of the two cascades do not belong together.
    """
    return _Renderer(experiment, results).table()


class _Renderer:
    """Everything about one figure."""

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self.experiment = experiment
        self.results = results
        self.published = Published(experiment, results.published)
        self.screening, self.against = (self._column(option) for option in ("screening", "against"))
        self.label = experiment["labels"][self.screening]
        self.other = experiment["labels"][self.against]
        # Of each number that the text gives: model, condition and metric as published, and the head of its column.
        self.heads = {
            (self.screening, "level 1", "screened_share"): "leave at level 1 (%)",
            (self.screening, "last level", "remaining_share"): "go through all levels (%)",
            (self.screening, "screened rows", "accuracy"): "accuracy of those that leave early (%)",
            (self.screening, "all rows", "accuracy"): "accuracy of all (%)",
            (self.against, "all rows", "accuracy"): f"accuracy of all, {self.other} (%)",
            (self.screening, f"screened rows, against {self.against}", "different_predictions"): (
                f"rows that leave early and {self.other} predicts otherwise"
            ),
            (self.screening, f"last level, against {self.against}", "additional_correct"): (
                f"more rows right than {self.other}"
            ),
            (self.screening, "", "n_layers"): "levels",
            (self.against, "", "n_layers"): f"levels of {self.other}",
        }
        measured = score_rows({**experiment, "metrics": ["accuracy"]}, results)
        self.status = {(row.dataset, row.model): row for row in measured}
        self.panels = [self._panel(dataset) for dataset in experiment["datasets"]]

    def _column(self, option: str) -> str:
        column = self.experiment["options"].get(option)
        if column not in self.experiment["columns"]:
            raise ConfigError(
                f"config/experiments/{self.experiment['paper']}.yaml: {self.experiment['id']}/options/{option} is "
                f"'{column}'; choose one of {', '.join(self.experiment['columns'])}."
            )
        return column

    # Numbers ------------------------------------------------------------------------------------------------------

    def _arrays(self, dataset: str, column: str) -> dict[str, np.ndarray] | None:
        """What the first repeat saved; None if it did not run."""
        if self.status[dataset, column].status != OK:
            return None
        preset = self.experiment["columns"][column]
        cells = self.results.cells(dataset, preset, self.experiment["repeats"][dataset])
        return self.results.arrays(cells[0], EXTRA)

    def _panel(self, dataset: str) -> _Panel:
        mine, theirs = (self._arrays(dataset, column) for column in (self.screening, self.against))
        counts = None if mine is None else count_screened(*_decisions(mine))
        facts = dict(self._facts(dataset, counts, mine, theirs))
        row = self.status[dataset, self.screening]
        return _Panel(dataset, counts, f"{row.status}: {row.note}" if row.note else row.status, facts)

    def _facts(
        self, dataset: str, counts: Screening | None, mine: dict | None, theirs: dict | None
    ) -> Iterable[tuple[tuple[str, str, str], TidyRow]]:
        if mine is not None and theirs is not None and (mine["y_test"] != theirs["y_test"]).any():
            raise UserError(
                f"{dataset}: the test rows of {self.label} and {self.other} are not the same. "
                f"Run both again: snakemake --cores all --config suite={self.results.suite}"
            )
        values: dict[tuple[str, str, str], float | None] = dict.fromkeys(self.heads)
        if counts is not None:
            values |= self._own_values(counts)
        if theirs is not None:
            staged, _, y = _decisions(theirs)
            values[self.against, "all rows", "accuracy"] = float((staged[-1] == y).mean())
            values[self.against, "", "n_layers"] = len(staged)
        if counts is not None and theirs is not None:
            gone = mine["decision_level"] < counts.n_levels - 1
            differs = (mine["staged_predicted"][-1] != staged[-1])[gone]
            condition = f"screened rows, against {self.against}"
            values[self.screening, condition, "different_predictions"] = int(differs.sum()) if gone.any() else None
            more = counts.n_correct - int((staged[-1] == y).sum())
            values[self.screening, f"last level, against {self.against}", "additional_correct"] = more
        n_test = None if counts is None else counts.n_test
        for key, value in values.items():
            row = TidyRow(dataset, *key)
            if number := self.published.number(dataset, key[0], key[2], key[1]):
                row = replace(row, published=float(number.value))
            if value is not None:
                yield key, replace(row, mean=float(value), n=1, n_test=n_test)
            else:
                yield key, replace(row, **self._why_not(dataset, key))

    @staticmethod
    def _nothing(note: str) -> dict[str, str]:
        return {"status": UNAVAILABLE, "note": note}

    def _why_not(self, dataset: str, key: tuple[str, str, str]) -> dict[str, str]:
        """Status and note of a number that is not there."""
        columns = [key[0]] if self.against not in key[1] else [self.screening, self.against]
        for column in columns:
            row = self.status[dataset, column]
            if row.status != OK:
                return {"status": row.status, "note": row.note}
        return self._nothing(NOBODY)

    def _own_values(self, counts: Screening) -> dict[tuple[str, str, str], float | None]:
        gone = counts.screened[-1] if counts.screened else 0
        return {
            (self.screening, "level 1", "screened_share"): (counts.screened[0] if gone else 0) / counts.n_test,
            (self.screening, "last level", "remaining_share"): 1 - gone / counts.n_test,
            (self.screening, "screened rows", "accuracy"): counts.screened_correct[-1] / gone if gone else None,
            (self.screening, "all rows", "accuracy"): counts.n_correct / counts.n_test,
            (self.screening, "", "n_layers"): counts.n_levels,
        }

    def _drawn_rows(self) -> Iterable[TidyRow]:
        for panel in self.panels:
            if panel.counts is None:
                row = self.status[panel.dataset, self.screening]
                yield TidyRow(panel.dataset, self.screening, "", CURVES[0], status=row.status, note=row.note)
                continue
            for name in CURVES:
                for k, value in enumerate(getattr(panel.counts, name), start=1):
                    yield TidyRow(
                        panel.dataset, self.screening, f"level {k}", name, float(value), n=1, n_test=panel.counts.n_test
                    )

    # Table --------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """Everything."""
        label_heads, lines = without_source(
            ("data set", ""), [line for panel in self.panels for line in self._lines(panel)]
        )
        view = TableView(
            name=self.experiment["id"],
            title=self.experiment["title"],
            suite=self.results.suite,
            label_heads=label_heads,
            heads=tuple(self.heads.values()),
            size_head="test rows",
            rows=tuple(lines),
            notes=tuple(filter(None, self._notes())),
            deviations=tuple(self.experiment["deviations"]),
        )
        figure = Figure(self._caption(), self._alt(), tuple(self._drawn_rows()), self._draw)
        return Table(tuple(row for panel in self.panels for row in panel.facts.values()), view, figure)

    def _lines(self, panel: _Panel) -> Iterable[Row]:
        cells = tuple(map(_cell, panel.facts.values()))
        size = "" if panel.counts is None else f"{panel.counts.n_test:,}"
        if panel.counts is None:
            cells = (Cell(panel.reason, is_word=True),) * len(cells)
        yield Row((panel.dataset, REPRODUCED), cells, REPRODUCED, size)
        printed = [self._printed_cell(panel.dataset, key) for key in panel.facts]
        if any(not cell.is_word for cell in printed):
            yield Row((panel.dataset, PUBLISHED), tuple(printed), PUBLISHED)

    def _printed_cell(self, dataset: str, key: tuple[str, str, str]) -> Cell:
        number = self.published.number(dataset, key[0], key[2], key[1])
        if number is None:
            return Cell(NOT_PRINTED, is_word=True)
        return Cell(f"{number.qualifier} {printed_text(key[2], number.value, None)}".strip())

    def _notes(self) -> Iterable[str]:
        yield (
            f"Of {self.label}; {self.other} sends every row through all levels. A row leaves early if it leaves before "
            "the last level. Rows right: of all test rows, at the end."
        )
        if any(self.experiment["repeats"][panel.dataset] > 1 for panel in self.panels):
            yield "Drawn and counted is the first repeat."
        yield budget_note(self.experiment, self.results)
        yield published_note(self.experiment, self.published)
        for panel in self.panels:
            if panel.counts is not None and not (panel.counts.screened and panel.counts.screened[-1]):
                levels = "has one level" if panel.counts.n_levels == 1 else f"has {panel.counts.n_levels} levels"
                yield f"{panel.dataset}: {NOBODY}; the cascade {levels}."
            row = self.status[panel.dataset, self.against]
            if panel.counts is not None and row.status != OK:
                yield f"{panel.dataset}: no {self.other} to compare with ({row.status}{row.note and f': {row.note}'})."
        yield from data_notes(self.experiment, self.results, self.published)

    # Words --------------------------------------------------------------------------------------------------------

    def _caption(self) -> str:
        parts = [
            "(a) Bars: test rows that left the cascade up to a level, at which their prediction was confident enough; "
            "dots: those of them that are predicted right. (b) Bars: test rows that go on after a level; dots: those "
            "of them that are right by this level's prediction, triangles: by the next level's, with the change below. "
            "Percents above bars are shares of the test rows. The last level, which decides the rest, is not drawn."
        ]
        marked = [panel for panel in self.panels if panel.counts is not None and self._marks(panel)]
        if marked:
            parts.append("Diamonds: the paper's shares.")
        if said := self._published_words():
            parts.append(f"The paper's text: {said}.")
        return " ".join([*parts, *map(self._panel_words, self.panels)])

    def _alt(self) -> str:
        return " ".join([f"{self.experiment['title']}.", *map(self._panel_words, self.panels)])

    def _panel_words(self, panel: _Panel) -> str:
        if panel.counts is None:
            return f"{panel.dataset}: {panel.reason}."
        facts = {key: _number(row) for key, row in panel.facts.items() if row.mean is not None}
        return f"{panel.dataset}: {self._words(facts)}."

    def _published_words(self) -> str:
        """The paper's numbers in words, with the data set that they are of."""
        sentences = []
        for dataset in self.published.datasets():
            facts = {}
            for key in self.heads:
                model = self.published.place(key[0])[0]
                if number := self.published.number_at(dataset, model, key[1], key[2]):
                    facts[key] = f"{number.qualifier} {printed_text(key[2], number.value, None)}".strip()
            if facts:
                sentences.append(f"on {dataset} {self._words(facts)}")
        return "; ".join(sentences)

    def _words(self, facts: Mapping[tuple[str, str, str], str]) -> str:
        """Half-sentences from numbers, as far as they are there."""

        def said(words: str, column: str, condition: str, metric: str) -> list[str]:
            text = facts.get((column, condition, metric))
            return [] if text is None else [words.format(text)]

        mine, more = (
            self.screening,
            facts.get((self.screening, f"last level, against {self.against}", "additional_correct")),
        )
        parts = said("{} levels", mine, "", "n_layers") if facts.get((mine, "", "n_layers")) != "1" else ["1 level"]
        if (mine, "", "n_layers") in facts and (mine, "screened rows", "accuracy") not in facts:
            parts.append(NOBODY)
        else:
            parts += said("{} % of the rows leave at level 1", mine, "level 1", "screened_share")
            parts += said("{} % go through all levels", mine, "last level", "remaining_share")
            parts += said("accuracy of those that leave early {} %", mine, "screened rows", "accuracy")
        parts += said("accuracy of all {} %", mine, "all rows", "accuracy")
        condition = f"screened rows, against {self.against}"
        other = f"{self.other} predicts {{}} of those that leave early otherwise"
        parts += said(other, mine, condition, "different_predictions")
        if more is not None:
            words = "fewer" if more.startswith("−") else "more"
            parts.append(f"{more.lstrip('−')} {words} right at the end than with {self.other}")
        return ", ".join(parts)

    # Picture ------------------------------------------------------------------------------------------------------

    def _marks(self, panel: _Panel) -> dict[str, float]:
        """Published shares that have a place in the panels."""
        keys = {"a": ("level 1", "screened_share"), "b": ("last level", "remaining_share")}
        numbers = {
            name: self.published.number(panel.dataset, self.screening, metric, condition)
            for name, (condition, metric) in keys.items()
        }
        return {name: float(number.value) for name, number in numbers.items() if number is not None}

    def _draw(self) -> MatplotlibFigure:
        from matplotlib.figure import Figure as MatplotlibFigure

        heights = [_HEIGHT if _has_bars(panel) else _EMPTY_HEIGHT for panel in self.panels]
        picture = MatplotlibFigure(figsize=(WIDTH, sum(heights) + _LEGEND_HEIGHT), layout="constrained")
        parts = picture.subfigures(len(self.panels) + 1, 1, height_ratios=[*heights, _LEGEND_HEIGHT], squeeze=False)
        drawn = {}
        for panel, (part,) in zip(self.panels, parts, strict=False):
            size = "" if panel.counts is None else f", {panel.counts.n_test:,} test rows"
            part.suptitle(f"{panel.dataset}{size}", x=0.012, ha="left", fontsize=9, fontweight="bold")
            if not _has_bars(panel):
                write_words(part, panel.reason if panel.counts is None else self._levels_words(panel.counts.n_levels))
                continue
            left, right = part.subplots(1, 2)
            marks = self._marks(panel)
            _draw_screened(left, panel.counts, marks.get("a"))
            _draw_remaining(right, panel.counts, marks.get("b"))
            for column, axes in enumerate((left, right)):
                for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                    drawn.setdefault(column, {}).setdefault(label, handle)
        for column, entries in drawn.items():
            labels = sorted(entries, key=lambda label: _LEGEND_ORDER.index(label.partition(":")[0]))
            handles = [entries[label] for label in labels]
            parts[-1, 0].legend(handles, labels, loc="upper left", bbox_to_anchor=(0.06 + 0.5 * column, 1))
        return picture

    @staticmethod
    def _levels_words(n_levels: int) -> str:
        return f"{n_levels} level{'s' if n_levels > 1 else ''}: {NOBODY}"


#: Legend entries in their order.
_LEGEND_ORDER = (
    _LEFT := "rows that left at this level or before",
    _GO_ON := "rows that go on to the next level",
    _LEFT_RIGHT := "of these, predicted right",
    _RIGHT_NOW := "of these, right at this level",
    _RIGHT_NEXT := "of these, right at the next level",
    _PUBLISHED := "published",
)


def _has_bars(panel: _Panel) -> bool:
    return panel.counts is not None and bool(panel.counts.screened) and panel.counts.screened[-1] > 0


def _draw_screened(axes: Axes, counts: Screening, published: float | None) -> None:
    levels = range(1, counts.n_levels)
    axes.set_title("(a) Rows that have left, accumulated")
    axes.bar(levels, counts.screened, width=_BAR, color=_BAR_COLOUR, label=_LEFT)
    axes.plot(levels, counts.screened_correct, color=BLUE, marker="o", label=_LEFT_RIGHT)
    _frame(axes, counts, counts.n_test)
    axes.axhline(counts.n_test, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.annotate(
        "all test rows",
        (1, counts.n_test),
        (-2, 2.5),
        ("axes fraction", "data"),
        "offset points",
        ha="right",
        fontsize=7,
    )
    _label_bars(axes, counts.screened, counts.n_test)
    if len(levels) <= _N_LABELLED_BARS:
        for level, gone, right in zip(levels, counts.screened, counts.screened_correct, strict=True):
            if gone:
                _label_dot(axes, f"{100 * right / gone:.1f} %\nright", (level, right), gone, 0.17 * counts.n_test, BLUE)
    if published is not None:
        _diamond(axes, 1 - _BAR / 2 - _BESIDE, published, counts.n_test)


def _draw_remaining(axes: Axes, counts: Screening, published: float | None) -> None:
    levels = range(1, counts.n_levels)
    axes.set_title("(b) Rows that go on")
    axes.bar(levels, counts.remaining, width=_BAR, color=_BAR_COLOUR, label=_GO_ON)
    for level, now, following in zip(levels, counts.correct_now, counts.correct_next, strict=True):
        ends = level - 0.3 * _BAR, level + 0.3 * _BAR
        axes.plot(ends, (now, following), color=GREY, linewidth=1)
        axes.plot(ends[:1], [now], color=BLUE, marker="o", linestyle="none", label=_RIGHT_NOW)
        axes.plot(ends[1:], [following], color=ORANGE, marker="^", linestyle="none", label=_RIGHT_NEXT)
        if len(levels) <= _N_LABELLED_BARS:
            change = f"{following - now:+,}".replace("-", "−") if following != now else "±0"
            goes_on = counts.remaining[level - 1]
            _label_dot(axes, change, (level, min(now, following)), goes_on, 0.1 * max(counts.remaining), BLACK)
    _frame(axes, counts, max(*counts.remaining, (published or 0) * counts.n_test, 1))
    _label_bars(axes, counts.remaining, counts.n_test)
    if published is not None:
        _diamond(axes, counts.n_levels - 1 + _BAR / 2 + _BESIDE, published, counts.n_test)


def _decisions(arrays: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return arrays["staged_predicted"], arrays["decision_level"], arrays["y_test"]


def _number(row: TidyRow) -> str:
    if row.metric == "n_layers":
        return f"{row.mean:.0f}"
    return number_text(row.metric, row.mean, None).replace("-", "−")


def _cell(row: TidyRow) -> Cell:
    if row.mean is not None:
        return Cell(_number(row))
    return Cell(row.note if row.note == NOBODY else row.status, is_word=True)


def _frame(axes: Axes, counts: Screening, top: float) -> None:
    """Axes that both panels have: levels, and rows from 0 upwards."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    # A single bar would fill the panel.
    axes.set_xlim(0.4, max(counts.n_levels, 3) - 0.4)
    axes.set_xticks(range(1, counts.n_levels))
    axes.set_ylim(0, 1.14 * top)
    axes.set_xlabel("level")
    axes.set_ylabel("test rows (number)")
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.grid(visible=False, axis="x")


def _label_bars(axes: Axes, values: tuple[int, ...], n_test: int) -> None:
    """Write the share of the test rows above each bar."""
    if len(values) <= _N_LABELLED_BARS:
        for level, value in enumerate(values, start=1):
            _annotate(axes, f"{100 * value / n_test:.0f} %", (level, value), 4, "bottom", BLACK)


def _label_dot(axes: Axes, text: str, dot: tuple[float, float], bar: float, least: float, colour: str) -> None:
    """Write below a dot, or above its bar's label where there is no room between the dot and the axis."""
    if dot[1] >= least:
        _annotate(axes, text, dot, -7, "top", colour)
    else:
        _annotate(axes, text, (dot[0], bar), 13, "bottom", colour)


def _annotate(axes: Axes, text: str, place: tuple[float, float], points: float, side: str, colour: str) -> None:
    axes.annotate(
        text,
        place,
        (0, points),
        textcoords="offset points",
        ha="center",
        va=side,
        fontsize=7,
        color=colour,
        linespacing=1.0,
    )


def _diamond(axes: Axes, place: float, share: float, n_test: int) -> None:
    """Mark a published share, beside its bar."""
    axes.plot(
        [place],
        [share * n_test],
        marker="D",
        markerfacecolor="white",
        markeredgecolor=BLACK,
        markeredgewidth=1.1,
        linestyle="none",
        label=f"{_PUBLISHED}: {100 * share:g} %",
        zorder=5,
    )
