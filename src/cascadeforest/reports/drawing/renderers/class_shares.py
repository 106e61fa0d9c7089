"""Training rows that DDBF's iterations pass and keep, by class (ddbf-fig5): stacks, and the ratio of the classes."""

from collections.abc import Iterable, Mapping
from itertools import cycle

import numpy as np
import pandas as pd

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.drawing import Cells, Pair, Table, draw, metric_head, models
from cascadeforest.reports.numbers.frame import COLUMNS, TidyRow

EXTRA = "iterations"
ROWS, SHARE, RATE = "training_rows", "training_share", "train_pass_rate"
RATIO, AUC = "negatives_per_positive", "roc_auc"
#: Conditions. `OVER` ends the condition of a mean over repeats; other numbers are those of the first repeat.
BEFORE, AFTER, ALL, OVER = "before iteration 1", "after the last iteration", "all", "over repeats"
NEGATIVES, POSITIVES = "negatives kept", "positives kept"
#: Shares of the training rows, from the bottom of the picture.
STACK = ("negatives passed", "positives passed", POSITIVES, NEGATIVES)
#: Numbers that have a mean. Rows kept at the end have only this: the last iteration of the first repeat has them too.
LAST = ((f"{AFTER}, {NEGATIVES}", ROWS), (f"{AFTER}, {POSITIVES}", ROWS))
MEANS = ((BEFORE, RATIO), ("iteration 1", RATE), (ALL, RATE), *LAST, (AFTER, RATIO), ("", AUC))
#: Condition and metric to number, or to words where there is none.
Numbers = dict[tuple[str, str], float | str]
#: Columns of the table: how the condition of a number ends, or else its metric.
SHOWN = ("reached", RATE, NEGATIVES, POSITIVES, RATIO, AUC)
HEADS = ("rows that reach it", "passed (% of all)", NEGATIVES, POSITIVES, "negatives per positive", metric_head(AUC))
COLOURS = ("#B9D8EA", "#F4CDB0", draw.ORANGE, draw.BLUE)


def render(cells: Cells) -> Table:
    """Make picture and table."""
    cells.need(EXTRA)
    found = _measured(cells)
    rows = {pair: {row.key[2:]: row for row in _facts(cells, pair, own)} for pair, own in found.items()}
    drawn = tuple(_drawn(cells, found))
    lines = models.lines_of(cells, rows, SHOWN, _place, None)
    frame = pd.DataFrame([row for row in drawn if row.condition], columns=list(COLUMNS))
    parts = [_part(cells, dataset, frame[frame.dataset == dataset]) for dataset in cells.experiment.datasets]
    picture = draw.Picture(parts, legend=True, legend_columns=3)
    return Table.of(cells, {}, rows, (*cells.label_heads, "iteration"), HEADS, lines, picture=picture, drawn=drawn)


def count(reached: np.ndarray, easy: np.ndarray) -> Numbers:
    """Count positives, the rarest class (of equally rare classes the last one), and negatives, all other classes.

    `reached` and `easy` are the training rows, by iteration and class, that reach it and that it finds easy.
    """
    left = np.vstack([reached[:1], reached - easy])
    positive = min(np.flatnonzero(reached[0]).tolist(), key=lambda code: (reached[0, code], -code))
    kept = np.column_stack([np.delete(left, positive, axis=1).sum(axis=1), left[:, positive]])
    rows, shares = kept.sum(axis=1).tolist(), np.column_stack([kept[0] - kept, kept[:, ::-1]]) / kept[0].sum()
    found: Numbers = {}
    for k, (negatives, positives) in enumerate(kept.tolist()):
        state = f"iteration {k}" if k else BEFORE
        if k:
            found |= {(f"{state}, reached", ROWS): rows[k - 1], (state, RATE): (rows[k - 1] - rows[k]) / rows[0]}
        found |= {(f"{state}, {NEGATIVES}", ROWS): negatives, (f"{state}, {POSITIVES}", ROWS): positives}
        found |= {(f"{state}, {name}", SHARE): share for name, share in zip(STACK, shares[k].tolist(), strict=True)}
        found[state, RATIO] = negatives / positives if negatives and positives else "a class is used up"
    found |= {(ALL, RATE): 1 - rows[-1] / rows[0], (AFTER, RATIO): found[state, RATIO]}
    return found | dict(zip(LAST, kept[-1].tolist(), strict=True))


def _measured(cells: Cells) -> dict[Pair, list[Numbers]]:
    """Return the numbers of each repeat; refuse models without iterations."""
    found: dict[Pair, list[Numbers]] = {}
    for dataset, column in cells.pairs:
        repeats = cells.arrays(dataset, column, EXTRA)
        if any("class_counts_train" not in arrays for arrays in repeats):
            preset, place = cells.experiment.columns[column], f"{cells.experiment.place}/models/{column}"
            raise ConfigError(f"{place}: '{preset}' has no iterations. Take it out.")
        aucs: list[float | str] = [*cells.metric(dataset, column, AUC)] or ["no probabilities"] * len(repeats)
        found[dataset, column] = [
            count(arrays["class_counts_train"], arrays["easy_counts_train"]) | {("", AUC): auc}
            for arrays, auc in zip(repeats, aucs, strict=True)
        ]
    return found


def _facts(cells: Cells, pair: Pair, repeats: list[Numbers]) -> Iterable[TidyRow]:
    """Yield the numbers of the first repeat and, of several repeats, means."""
    first = repeats[0] if repeats else dict.fromkeys(((BEFORE, RATIO), (AFTER, RATIO), (ALL, RATE), ("", AUC)))
    kept = {key: value for key, value in first.items() if key[1] != SHARE and key not in LAST}
    yield from (cells.row(*pair, *key, value) for key, value in kept.items())
    for condition, metric in MEANS if len(repeats) > 1 else ():
        values = [numbers[condition, metric] for numbers in repeats]
        # The mean is over the repeats that have such a number.
        numeric = [value for value in values if not isinstance(value, str)]
        yield cells.row(*pair, f"{condition}, {OVER}".removeprefix(", "), metric, numeric or values)


def _drawn(cells: Cells, found: Mapping[Pair, list[Numbers]]) -> Iterable[TidyRow]:
    """Yield the numbers of the picture: shares and ratio in each state of the first repeat."""
    for pair, repeats in found.items():
        for (condition, metric), value in (repeats[0] if repeats else {("", SHARE): None}).items():
            if metric == SHARE or (metric == RATIO and condition != AFTER):
                yield cells.row(*pair, condition, metric, value)


def _place(condition: str, metric: str) -> tuple[str, str]:
    """Return the line of a number, a state of the first repeat or a mean, and its column."""
    state, _, what = condition.removesuffix(OVER).removesuffix(", ").replace(ALL, "").partition(", ")
    return (state or AFTER).removeprefix("iteration ") + ", mean" * condition.endswith(OVER), what or metric


def _part(cells: Cells, dataset: str, frame: pd.DataFrame) -> draw.Part:
    """Draw one data set: a stack for each model, and the ratio of the classes for all models."""
    if frame.empty:
        return draw.Part(title=dataset, words=cells.reasons(dataset))
    panels: list[draw.Panel | None] = []
    marks: list[draw.Mark] = []
    n_states = frame[frame.metric == RATIO].groupby("model").size().max()
    x = draw.Axis("after iteration (0: before the first)", (-0.6, max(n_states, 3) - 0.4), ticks="whole")
    for number, (column, own) in enumerate(frame.groupby("model", sort=False)):
        shares = 100 * own.loc[own.metric == SHARE, "mean"].to_numpy().reshape(-1, len(STACK)).T
        bars = zip(shares, COLOURS, STACK, np.cumsum(shares, axis=0) - shares, strict=True)
        stack = [draw.bars(range(shares.shape[1]), *bar, width=0.9) for bar in bars]
        axes = x, draw.Axis("training rows (%)", (0, 100))
        panels.append(draw.Panel(stack, f"(a{number + 1}) {cells.label(column)}", *axes))
        ratios = own.loc[own.metric == RATIO, "mean"]
        marks.append(draw.line(range(len(ratios)), ratios, draw.look(number), cells.label(column)))
    # The paper's ratios, if its data begin with ours, up to a tenth.
    published = {text["condition"]: text["value"] for text in cells.published.texts() if text["metric"] == RATIO}
    if BEFORE not in published or abs(ratios.iloc[0] / float(published[BEFORE]) - 1) > 0.1:
        published = {}
    for (condition, digits), dashes in zip(published.items(), cycle((draw.DASHED, draw.DOTTED)), strict=False):
        words = f"published, {condition}: {digits}"
        marks.append(draw.rule(y=float(digits), label=words, colour=draw.BLACK, line=dashes))
    # At least a decade, so that a ratio that hardly moves looks so.
    shown = [*frame.loc[frame.metric == RATIO, "mean"], *map(float, published.values())]
    low, high = np.nanmin(shown) / 1.4, np.nanmax(shown) * 1.4
    y = draw.Axis("negatives per positive", (low, max(high, 10 * low)), log=True)
    panels += [draw.Panel(marks, "(b) Negatives per positive kept", x, y), *[None] * (1 - len(panels) % 2)]
    return draw.Part([panels[k : k + 2] for k in range(0, len(panels), 2)], cells.sizes(dataset))
