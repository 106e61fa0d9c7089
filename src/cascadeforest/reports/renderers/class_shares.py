"""Training rows that DDBF's iterations pass as easy and keep as hard, by class (ddbf-fig5).

Panel (a), for each model: shares of all training rows, those that passed at the bottom, those that are kept at the top.
Where one class is rare, its shares are too thin to be seen, so panel (b) has the negatives per positive among the rows
kept, on a logarithmic axis. Positive is the rarest class of the training rows, negative is every other one.

Drawn is the first repeat; the table has means over all of them below it.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.derived import known_metric
from cascadeforest.reports.figure import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, WIDTH, Figure, write_words
from cascadeforest.reports.first_repeat import FirstRepeats
from cascadeforest.reports.notes import listed, stand_in_words
from cascadeforest.reports.printed_numbers import PublishedNumber
from cascadeforest.reports.results import Results
from cascadeforest.reports.table import Table
from cascadeforest.reports.tidy import UNAVAILABLE, TidyRow
from cascadeforest.reports.view import (
    NOT_PRINTED,
    PUBLISHED,
    REPRODUCED,
    Cell,
    Row,
    metric_head,
    number_text,
    printed_text,
    without_source,
)

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

EXTRA = "iterations"
ROWS, RATE, RATIO, AUC = "training_rows", "train_pass_rate", "negatives_per_positive", "roc_auc"
SHARE = "training_share"
NEGATIVES, POSITIVES = "negatives", "positives"
#: Conditions of the published numbers; `ALL` is that of the pass rate in ddbf-table5.
BEFORE, AFTER, ALL = "before iteration 1", "after the last iteration", "all"
NO_POSITIVES, NO_NEGATIVES, NOBODY = "no positives left", "no negatives left", "no rows left"
#: Behind the condition of a number over all repeats; the others are those of the first.
OVER = "over repeats"
NO_AUC = f"the model gives no {known_metric(AUC).label}"
#: Another data set stands for the paper's if it begins with the same ratio of classes, up to this part of it.
STAND_IN = 0.1
#: Positives that are a smaller part of the training rows cannot be seen among them: their number is written.
THIN = 0.02
#: Inches that a row of panels is high, the head above them, words in their place, and a line of the legend.
_HEIGHT, _HEAD, _EMPTY_HEIGHT, _LINE = 2.3, 0.3, 0.75, 0.165
_PASSED_NEGATIVES, _PASSED_POSITIVES = "#B9D8EA", "#F4CDB0"
#: From the bottom of the stack to its top, as the paper's caption says.
_STACK = {
    f"{NEGATIVES} passed": _PASSED_NEGATIVES,
    f"{POSITIVES} passed": _PASSED_POSITIVES,
    f"{POSITIVES} kept": ORANGE,
    f"{NEGATIVES} kept": BLUE,
}
#: How a state of a model that has no ratio is marked on the axis.
_MARKS = {NO_POSITIVES: "x", NO_NEGATIVES: "1", NOBODY: "+"}
_LINES = ((BLUE, "o", "solid"), (ORANGE, "^", (0, (5, 1.5))), (GREEN, "s", (0, (1, 1))), (PURPLE, "D", "dashdot"))


@dataclass(frozen=True)
class Shares:
    """What the iterations of one model did with the training rows.

    Parameters
    ----------
    kept : tuple of (int, int)
        Negatives and positives that are left before the first iteration and after each.
    positive : int
        Place of the positive class among those of the model.
    n_classes : int
        Classes of the model.
    """

    kept: tuple[tuple[int, int], ...]
    positive: int
    n_classes: int

    @property
    def n_iterations(self) -> int:
        """Iterations."""
        return len(self.kept) - 1

    @property
    def n_rows(self) -> int:
        """Training rows."""
        return sum(self.kept[0])

    def passed(self, iteration: int) -> int:
        """Rows that one iteration, counted from 1, found easy."""
        return sum(self.kept[iteration - 1]) - sum(self.kept[iteration])

    def stack(self, iteration: int) -> dict[str, float]:
        """Shares of the training rows after an iteration (0: before the first), in the order of `_STACK`."""
        (all_negatives, all_positives), (negatives, positives) = self.kept[0], self.kept[iteration]
        counts = (all_negatives - negatives, all_positives - positives, positives, negatives)
        return {name: count / self.n_rows for name, count in zip(_STACK, counts, strict=True)}

    def ratio(self, iteration: int) -> float | str:
        """Negatives per positive after an iteration (0: before the first), or why there is no such number."""
        negatives, positives = self.kept[iteration]
        if not negatives or not positives:
            return NOBODY if not negatives and not positives else NO_POSITIVES if negatives else NO_NEGATIVES
        return negatives / positives


def count_shares(reached: np.ndarray, easy: np.ndarray) -> Shares:
    """Put classes into two: the rarest one of the training rows, and all others.

    Parameters
    ----------
    reached : ndarray of shape (n_iterations, n_classes)
        Training rows of each class that reached each iteration.
    easy : ndarray of shape (n_iterations, n_classes)
        Those of them that it found easy.

    Returns
    -------
    Shares
        Of equally rare classes the last one is positive. A class without training rows is none.
    """
    counts = reached[0].tolist()
    positive = min((code for code, count in enumerate(counts) if count), key=lambda code: (counts[code], -code))
    kept = [reached[0], *(reached - easy)]
    return Shares(
        tuple((int(left.sum() - left[positive]), int(left[positive])) for left in kept), positive, len(counts)
    )


def render(experiment: Mapping[str, Any], results: Results) -> Table:
    """Make picture and table.

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
        If the experiment's cells do not save the arrays.
    UserError
        If a cell's arrays are missing.
    """
    return _Renderer(experiment, results).table()


class _Renderer:
    """Everything about one figure."""

    def __init__(self, experiment: Mapping[str, Any], results: Results) -> None:
        self.experiment, self.results = experiment, results
        self.cells = FirstRepeats(experiment, results)
        if EXTRA not in experiment["extras"]:
            raise ConfigError(f"{self.cells.place}/extras are {list(experiment['extras'])}; add '{EXTRA}'.")
        self.shares = {pair: self._shares(*pair) for pair in self.cells.pairs}
        self.facts = {pair: {row.key[2:]: row for row in self._facts(*pair)} for pair in self.cells.pairs}
        self.over = {pair: {row.key[2:]: row for row in self._over_repeats(*pair)} for pair in self.cells.pairs}

    # Numbers ------------------------------------------------------------------------------------------------------

    def _shares(self, dataset: str, column: str) -> Shares | None:
        if self.cells.cell(dataset, column) is None:
            return None
        return self._shares_of(self.cells.cell(dataset, column), column)

    def _shares_of(self, cell: Mapping[str, Any], column: str) -> Shares:
        """What the iterations of one repeat did."""
        arrays = self.results.arrays(cell, EXTRA)
        if "class_counts_train" not in arrays:
            raise ConfigError(
                f"{self.cells.place}/models/{column}: '{self.experiment['columns'][column]}' has no iterations. Take "
                "it out."
            )
        return count_shares(arrays["class_counts_train"], arrays["easy_counts_train"])

    def _facts(self, dataset: str, column: str) -> Iterable[TidyRow]:
        """The numbers of the table; without a cell those that the paper gives."""
        shares = self.shares[dataset, column]

        def row(condition: str, metric: str, value: float | str | None) -> TidyRow:
            return self.cells.row(dataset, column, condition, metric, value)

        if shares is None:
            for condition, metric in ((BEFORE, RATIO), (AFTER, RATIO), (ALL, RATE), ("", AUC)):
                yield row(condition, metric, None)
            return
        for k in range(shares.n_iterations + 1):
            if k:
                yield row(f"{_place(k)}, reached", ROWS, sum(shares.kept[k - 1]))
                yield row(_place(k), RATE, shares.passed(k) / shares.n_rows)
            for name, count in zip((NEGATIVES, POSITIVES), shares.kept[k], strict=True):
                yield row(f"{_place(k)}, {name} kept", ROWS, count)
            yield row(_place(k), RATIO, shares.ratio(k))
        yield row(ALL, RATE, 1 - sum(shares.kept[-1]) / shares.n_rows)
        yield row(AFTER, RATIO, shares.ratio(shares.n_iterations))
        yield row("", AUC, self.cells.cell(dataset, column)["metrics"].get(AUC, NO_AUC))

    def _over_repeats(self, dataset: str, column: str) -> Iterable[TidyRow]:
        """Means over all repeats, of what the caption says of the first; nothing if there is only one."""
        if self.shares[dataset, column] is None:
            return
        preset, n_repeats = self.experiment["columns"][column], self.experiment["repeats"][dataset]
        cells = self.results.cells(dataset, preset, n_repeats)
        if len(cells) < 2:
            return
        found = [self._shares_of(cell, column) for cell in cells]
        n_test = min(cell["n_test"] for cell in cells)

        def row(condition: str, metric: str, values: Iterable[float | str]) -> TidyRow:
            """Repeats in which there is no such number do not count; words if it is in none."""
            values = list(values)
            numbers = [value for value in values if not isinstance(value, str)]
            own = TidyRow(dataset, column, f"{condition}, {OVER}" if condition else OVER, metric)
            if not numbers:
                return replace(own, status=UNAVAILABLE, note="; ".join(dict.fromkeys(values)))
            spread = float(statistics.stdev(numbers)) if len(numbers) > 1 else None
            return replace(own, mean=statistics.fmean(numbers), std=spread, n=len(numbers), n_test=n_test)

        yield row(BEFORE, RATIO, (shares.ratio(0) for shares in found))
        yield row(_place(1), RATE, (shares.passed(1) / shares.n_rows for shares in found))
        yield row(ALL, RATE, (1 - sum(shares.kept[-1]) / shares.n_rows for shares in found))
        for place, name in enumerate((NEGATIVES, POSITIVES)):
            yield row(f"{AFTER}, {name} kept", ROWS, (shares.kept[-1][place] for shares in found))
        yield row(AFTER, RATIO, (shares.ratio(shares.n_iterations) for shares in found))
        yield row("", AUC, (cell["metrics"].get(AUC, NO_AUC) for cell in cells))

    def _drawn_rows(self) -> Iterable[TidyRow]:
        for (dataset, column), shares in self.shares.items():
            if shares is None:
                yield self.cells.row(dataset, column, "", SHARE, None)
                continue
            for k in range(shares.n_iterations + 1):
                for name, value in shares.stack(k).items():
                    yield self.cells.row(dataset, column, f"{_place(k)}, {name}", SHARE, value)
                yield self.cells.row(dataset, column, _place(k), RATIO, shares.ratio(k))

    def _class_words(self, dataset: str, shares: Shares) -> str:
        """Which class is positive."""
        names = self.results.summaries.get(dataset, {}).get("class_names", [])
        if len(names) != shares.n_classes:  # a class without training rows: the model's codes are not the data set's
            return "positives: the rarest class"
        others = f"class {names[1 - shares.positive]}" if shares.n_classes == 2 else "all others"
        return f"positives: class {names[shares.positive]}, negatives: {others}"

    def _references(self, dataset: str) -> dict[str, PublishedNumber]:
        """The paper's ratios, if its data set is this one, or this one begins with the same ratio of classes."""
        published = self.cells.published
        begins = [shares.ratio(0) for (name, _), shares in self.shares.items() if name == dataset and shares]
        for name in published.datasets():
            for column in self.experiment["columns"]:
                found = {
                    condition: number
                    for condition in (BEFORE, AFTER)
                    if (number := published.number_at(name, *published.place(column, condition), RATIO))
                }
                is_own = self.experiment["published_as"].get(dataset, dataset) == name
                if BEFORE in found and not is_own:
                    first = float(found[BEFORE].value)
                    is_own = any(not isinstance(b, str) and abs(b - first) <= STAND_IN * first for b in begins)
                if found and is_own:
                    return found
        return {}

    # Table --------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """Everything."""
        heads = (
            "rows that reach it",
            "passed (% of all)",
            "negatives kept",
            "positives kept",
            "negatives per positive kept",
            metric_head(AUC),
        )
        label_heads, lines = without_source(
            (*self.cells.label_heads, "iteration", ""),
            [line for pair in self.cells.pairs for line in self._lines(*pair, len(heads))],
        )
        view = self.cells.view(label_heads, heads, "", lines, self._notes())
        figure = Figure(self._caption(), self._alt(), tuple(self._drawn_rows()), self._draw)
        rows = (row for pair in self.facts for row in (*self.facts[pair].values(), *self.over[pair].values()))
        return Table(tuple(rows), view, figure)

    def _lines(self, dataset: str, column: str, n_cells: int) -> Iterable[Row]:
        labels, shares = self.cells.labels(dataset, column), self.shares[dataset, column]
        facts = self.facts[dataset, column]
        if shares is None:
            reason = (Cell(self.cells.reason(dataset, column), is_word=True),) * n_cells
            yield Row((*labels, "", REPRODUCED), reason)
            for condition in (BEFORE, AFTER):
                rows = [None] * 4 + [facts[condition, RATIO], facts["", AUC] if condition == AFTER else None]
                yield from self._published_line((*labels, condition), rows)
            return
        for k in range(shares.n_iterations + 1):
            rows = [facts.get(key) for key in _keys(_place(k))]
            yield Row((*labels, BEFORE if k == 0 else str(k), REPRODUCED), tuple(map(_cell, [*rows, None])))
            yield from self._published_line((*labels, BEFORE if k == 0 else str(k)), [*rows, None])
        last = _keys(_place(shares.n_iterations))
        rows = [None, facts[ALL, RATE], facts[last[2]], facts[last[3]], facts[AFTER, RATIO], facts["", AUC]]
        yield Row((*labels, AFTER, REPRODUCED), tuple(map(_cell, rows)))
        yield from self._published_line((*labels, AFTER), rows)
        if over := self.over[dataset, column]:
            keys = [(_place(1), RATE), (ALL, RATE), (f"{AFTER}, {NEGATIVES} kept", ROWS)]
            keys += [(f"{AFTER}, {POSITIVES} kept", ROWS), (AFTER, RATIO), ("", AUC)]
            found = [over[f"{condition}, {OVER}" if condition else OVER, metric] for condition, metric in keys]
            n_repeats = self.experiment["repeats"][dataset]
            cells = [_mean_cell(row, n_repeats) for row in found]
            words = f"mean of {n_repeats} repeats"
            yield Row((*labels, f"1, {words}", REPRODUCED), (Cell(""), cells[0], *(Cell(""),) * 4))
            yield Row((*labels, f"{AFTER}, {words}", REPRODUCED), (Cell(""), *cells[1:]))

    def _published_line(self, labels: tuple[str, ...], rows: list[TidyRow | None]) -> Iterable[Row]:
        """The paper's numbers below ours; where we have none by design, they have none either."""
        numbers = [row and self._printed(row) for row in rows]
        if any(numbers):
            cells = [
                Cell("")
                if row is None
                else Cell(printed_text(row.metric, number.value, None))
                if number
                else Cell(NOT_PRINTED, is_word=True)
                for row, number in zip(rows, numbers, strict=True)
            ]
            yield Row((*labels, PUBLISHED), tuple(cells), PUBLISHED)

    def _printed(self, row: TidyRow) -> PublishedNumber | None:
        return self.cells.published.number(row.dataset, row.model, row.metric, row.condition)

    def _notes(self) -> Iterable[str]:
        yield (
            "Of the training rows. Passed: found easy by the iteration, as a share of all training rows, so that "
            "iterations add up. Kept: reached it and did not pass; the next iteration learns from them. Positive is "
            "the rarest class, negative every other one. ROC AUC is that of the test rows, with all iterations."
        )
        if any(self.over.values()):
            yield (
                "Lines of a mean: mean ± standard deviation over all repeats (sample deviation, ddof = 1); the other "
                "lines are those of the first. Ratios are averaged over the repeats that have one."
            )
        yield from self._class_notes()

    def _class_notes(self) -> Iterable[str]:
        for dataset in self.experiment["datasets"]:
            for shares in [s for (name, _), s in self.shares.items() if name == dataset and s][:1]:
                yield f"{dataset}, {self._class_words(dataset, shares)}."

    # Words --------------------------------------------------------------------------------------------------------

    def _caption(self) -> str:
        letters = f"(a1) to (a{len(self.experiment['columns'])})" if self.cells.has_models else "(a)"
        parts = [
            f"{letters} Shares of the training rows, from the bottom: negatives and positives that passed as easy up "
            "to an iteration, positives and negatives that are kept as hard. (b) Negatives per positive among the rows "
            "that are kept, on a logarithmic axis."
        ]
        references = {dataset: found for dataset in self.experiment["datasets"] if (found := self._references(dataset))}
        if references:
            parts.append("Horizontal lines: the paper's ratios.")
        if any(map(self._gone, self.experiment["datasets"])):
            parts.append("Marks on the axis of (b): the rows kept have no ratio, as the legend says.")
        if thin := [dataset for dataset in self.experiment["datasets"] if self._is_thin(dataset)]:
            parts.append(
                f"On {listed(thin)} positives are too few to be seen in {letters}: written is how many are kept, "
                "before iteration 1, after it and after the last; (b) shows what becomes of the ratio."
            )
        parts += [self._published_words(), *map(self._stand_in_words, references), stand_in_words(self.experiment)]
        return " ".join(filter(None, [*parts, *self._all_words()]))

    def _is_thin(self, dataset: str) -> bool:
        """Whether positives are so few that no bar shows them."""
        found = [shares for (name, _), shares in self.shares.items() if name == dataset and shares]
        return any(shares.kept[0][1] < THIN * shares.n_rows for shares in found)

    def _gone(self, dataset: str) -> list[str]:
        """Why states of models have no ratio, each reason once, in the order of `_MARKS`."""
        states = [
            shares.ratio(k)
            for (name, _), shares in self.shares.items()
            if name == dataset and shares
            for k in range(shares.n_iterations + 1)
        ]
        return [words for words in _MARKS if words in states]

    def _alt(self) -> str:
        return " ".join([f"{self.experiment['title']}.", *self._all_words()])

    def _published_words(self) -> str:
        """The paper's numbers in words, with the data set that they are of."""
        published, sentences = self.cells.published, []
        for dataset in published.datasets():
            for column in self.experiment["columns"]:

                def number(condition: str, metric: str, key: tuple[str, str] = (dataset, column)) -> str:
                    found = published.number_at(key[0], *published.place(key[1], condition), metric)
                    return "" if found is None else printed_text(metric, found.value, None)

                begin, end, auc = number(BEFORE, RATIO), number(AFTER, RATIO), number("", AUC)
                said = [f"{begin} negatives per positive before the first iteration" if begin else ""]
                said += [f"{end} after the last" if end else "", f"ROC AUC {auc} %" if auc else ""]
                if any(said):
                    sentences.append(f"on {dataset} {', '.join(filter(None, said))}")
        return f"The paper's text: {'; '.join(sentences)}." if sentences else ""

    def _stand_in_words(self, dataset: str) -> str:
        if self.cells.published.has(dataset):
            return ""
        return f"{dataset} begins with about the same ratio of classes and stands for the paper's data."

    def _all_words(self) -> Iterable[str]:
        for dataset in self.experiment["datasets"]:
            columns = list(self.experiment["columns"])
            reasons = {self.cells.reason(dataset, column) for column in columns if not self.shares[dataset, column]}
            if len(reasons) == 1 and not any(self.shares[dataset, column] for column in columns):
                yield f"{dataset}: {reasons.pop()}."
                continue
            for column in columns:
                is_there = self.shares[dataset, column] is not None
                words = "; ".join(self._words(dataset, column)) if is_there else self.cells.reason(dataset, column)
                yield f"{self.cells.name(dataset, column)}: {words}."

    def _words(self, dataset: str, column: str) -> Iterable[str]:
        """Half-sentences about one model on one data set."""
        shares, facts = self.shares[dataset, column], self.facts[dataset, column]
        n = shares.n_iterations
        yield f"{shares.n_rows:,} training rows, {_said(facts[BEFORE, RATIO])} before iteration 1"
        words = f"{_number(facts[_place(1), RATE])} % of the rows pass at iteration 1"
        if n > 1:
            words += f", {_number(facts[ALL, RATE])} % in {n} iterations"
        yield words
        yield f"{_said(facts[AFTER, RATIO])} after the last iteration"
        auc = facts["", AUC]
        yield f"ROC AUC {_number(auc)} %" if auc.mean is not None else auc.note
        if over := self.over[dataset, column]:
            said = [f"{_mean_text(over[f'{ALL}, {OVER}', RATE])} % pass"]
            for key, unit in ((f"{AFTER}, {OVER}", RATIO), "negatives per positive at the end"), ((OVER, AUC), "%"):
                if over[key].mean is not None:
                    head = "" if key[1] == RATIO else "ROC AUC "
                    said.append(f"{head}{_mean_text(over[key])} {unit}")
            yield f"over {self.experiment['repeats'][dataset]} repeats {', '.join(said)}"

    # Picture ------------------------------------------------------------------------------------------------------

    def _draw(self) -> MatplotlibFigure:
        from matplotlib.figure import Figure as MatplotlibFigure

        datasets, columns = self.experiment["datasets"], list(self.experiment["columns"])
        n_panels = len(columns) + 1
        n_across = 2 if n_panels in (2, 4) else 3
        n_rows = -(-n_panels // n_across)
        has_any = {name: any(self.shares[name, column] for column in columns) for name in datasets}
        heights = [n_rows * _HEIGHT + _HEAD if has_any[name] else _EMPTY_HEIGHT for name in datasets]
        entries: tuple[dict[str, Any], dict[str, Any]] = ({}, {})  # of panels (a) and (b)
        legend = _LINE * max(len(_STACK), self._n_entries()) + 0.1 if any(has_any.values()) else 0.01
        picture = MatplotlibFigure(figsize=(WIDTH, sum(heights) + legend), layout="constrained")
        parts = picture.subfigures(len(datasets) + 1, 1, height_ratios=[*heights, legend], squeeze=False)
        for dataset, (part,) in zip(datasets, parts, strict=False):
            part.suptitle(self._title(dataset), x=0.012, ha="left", fontsize=9, fontweight="bold")
            if not has_any[dataset]:
                write_words(part, "; ".join(dict.fromkeys(self.cells.reason(dataset, c) for c in columns)))
                continue
            panels = part.subplots(n_rows, n_across, squeeze=False).ravel()
            for place, (axes, column) in enumerate(zip(panels, columns, strict=False), 1):
                several = f"(a{place}) {self.cells.label(column)}"
                axes.set_title(several if self.cells.has_models else "(a) Training rows")
                if shares := self.shares[dataset, column]:
                    _draw_stack(axes, shares, self._longest(dataset))
                    if self._is_thin(dataset):
                        _write_positives(axes, shares)
                else:
                    _write(axes, self.cells.reason(dataset, column))
            panels[len(columns)].set_title("(b) Negatives per positive kept")
            self._draw_ratios(panels[len(columns)], dataset)
            for axes in panels[n_panels:]:
                axes.set_axis_off()
            for place, axes in enumerate((*panels[: len(columns)], panels[len(columns)])):
                for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                    entries[place == len(columns)].setdefault(label, handle)
        for place, found in enumerate(entries):
            if found:
                # The stack's entries from the top, as it is.
                labels = list(found) if place else list(reversed(_STACK))
                handles = [found[label] for label in labels]
                parts[-1, 0].legend(
                    handles, labels, loc="upper left", bbox_to_anchor=(0.06 + 0.5 * place, 1), handlelength=2.6
                )
        return picture

    def _n_entries(self) -> int:
        """Legend entries of panels (b)."""
        drawn = {column for (_, column), shares in self.shares.items() if shares}
        gone = {words for dataset in self.experiment["datasets"] for words in self._gone(dataset)}
        return len(drawn) + len(gone) + max(len(self._references(dataset)) for dataset in self.experiment["datasets"])

    def _longest(self, dataset: str) -> int:
        """Iterations of the longest cascade: panels that are compared have one axis."""
        return max(shares.n_iterations for (name, _), shares in self.shares.items() if name == dataset and shares)

    def _title(self, dataset: str) -> str:
        for (name, _), shares in self.shares.items():
            if name == dataset and shares:
                # Two lines: names of classes can be long.
                return f"{dataset}, {shares.n_rows:,} training rows\n{self._class_words(dataset, shares)}"
        return dataset

    def _draw_ratios(self, axes: Axes, dataset: str) -> None:
        from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

        references = self._references(dataset)
        numbers = [float(number.value) for number in references.values()]
        for place, column in enumerate(self.experiment["columns"]):
            shares = self.shares[dataset, column]
            if shares is None:
                continue
            colour, marker, dash = _LINES[place % len(_LINES)]
            ratios = [shares.ratio(k) for k in range(shares.n_iterations + 1)]
            there = [(k, ratio) for k, ratio in enumerate(ratios) if not isinstance(ratio, str)]
            numbers += [ratio for _, ratio in there]
            label = self.cells.label(column)
            axes.plot(*zip(*there, strict=True), color=colour, marker=marker, linestyle=dash, label=label)
            for k, words in enumerate(ratios):
                if words in _MARKS:
                    # Marks of several models stand beside each other.
                    _draw_mark(axes, k + 0.12 * (place - (len(self.experiment["columns"]) - 1) / 2), words, colour)
        for words in self._gone(dataset):
            axes.plot([], [], color=BLACK, marker=_MARKS[words], markeredgewidth=1.4, linestyle="none", label=words)
        axes.set_yscale("log")
        low, high = min(numbers), max(numbers)
        # At least a decade, so that a ratio that hardly moves looks so.
        room = max(1.4, (10 * low / high) ** 0.5)
        axes.set_ylim(low / room, high * room)
        for condition, dash in ((BEFORE, (0, (7, 3))), (AFTER, (0, (2, 2)))):
            if number := references.get(condition):
                words = f"published, {condition}: {printed_text(RATIO, number.value, None)}"
                axes.axhline(float(number.value), color=BLACK, linewidth=0.9, linestyle=dash, label=words, zorder=1.5)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 100 else (1,)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.set_ylabel("negatives per positive")
        _frame(axes, self._longest(dataset))


def _draw_mark(axes: Axes, x: float, words: str, colour: str) -> None:
    """Mark a state without a ratio on the axis, where no ratio is."""
    axes.plot(
        [x],
        [0],
        transform=axes.get_xaxis_transform(),
        color=colour,
        marker=_MARKS[words],
        markersize=7,
        markeredgewidth=1.6,
        linestyle="none",
        clip_on=False,
        zorder=5,
    )


def _draw_stack(axes: Axes, shares: Shares, n_iterations: int) -> None:
    """A bar for each state: before the first iteration, and after each."""
    states = range(shares.n_iterations + 1)
    bottom = [0.0] * len(states)
    for name, colour in _STACK.items():
        heights = [100 * shares.stack(k)[name] for k in states]
        axes.bar(states, heights, width=0.9, bottom=bottom, color=colour, linewidth=0, label=name)
        bottom = [below + height for below, height in zip(bottom, heights, strict=True)]
    axes.set_ylim(0, 100)
    axes.set_ylabel("training rows (%)")
    _frame(axes, n_iterations)
    axes.grid(visible=False, axis="x")


def _write_positives(axes: Axes, shares: Shares) -> None:
    """How many positives are kept: before the first iteration, after it, and at the end."""
    states = dict.fromkeys((0, 1, shares.n_iterations))
    words = "positives kept:\n" + " → ".join(f"{shares.kept[k][1]:,}" for k in states)
    # At the bottom: the end of the bars, where the last rows are kept, is at the top.
    axes.text(
        0.97,
        0.05,
        words,
        transform=axes.transAxes,
        ha="right",
        va="bottom",
        fontsize=7.5,
        bbox={"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": ORANGE, "linewidth": 0.8},
        zorder=5,
    )


def _frame(axes: Axes, n_iterations: int) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_xlim(-0.6, max(n_iterations, 2) + 0.6)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, min_n_ticks=1))
    axes.set_xlabel("after iteration (0: before the first)")


def _write(axes: Axes, words: str) -> None:
    """Words in the place of one panel."""
    import textwrap

    axes.set_axis_off()
    text = textwrap.fill(words, 32)
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=GREY, style="italic")


def _place(k: int) -> str:
    """Condition of a state: before the first iteration, or after the k-th."""
    return f"iteration {k}" if k else BEFORE


def _keys(place: str) -> list[tuple[str, str]]:
    """Facts of a line but the ROC AUC; those that it does not have are blank."""
    return [
        (f"{place}, reached", ROWS),
        (place, RATE),
        (f"{place}, {NEGATIVES} kept", ROWS),
        (f"{place}, {POSITIVES} kept", ROWS),
        (place, RATIO),
    ]


def _number(row: TidyRow) -> str:
    return f"{row.mean:,.0f}" if row.metric == ROWS else number_text(row.metric, row.mean, None)


def _mean_text(row: TidyRow) -> str:
    if row.metric != ROWS:
        return number_text(row.metric, row.mean, row.std)
    return f"{row.mean:,.1f}" + ("" if row.std is None else f" ± {row.std:,.1f}")


def _mean_cell(row: TidyRow, n_repeats: int) -> Cell:
    if row.mean is None:
        return Cell(row.note, is_word=True)
    return Cell(_mean_text(row) + ("" if row.n == n_repeats else f" ({row.n} of {n_repeats})"))


def _said(row: TidyRow) -> str:
    return row.note if row.mean is None else f"{_number(row)} negatives per positive"


def _cell(row: TidyRow | None) -> Cell:
    if row is None:
        return Cell("")
    return Cell(_number(row)) if row.mean is not None else Cell(row.note or row.status, is_word=True)
