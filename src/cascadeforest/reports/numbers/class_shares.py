"""Training rows that DDBF's iterations pass as easy and keep as hard, by class (ddbf-fig5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from cascadeforest.data.errors import ConfigError
from cascadeforest.experiments.plan import Pair
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.frame import TidyRow

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


def measured(cells: Cells) -> dict[Pair, list[Numbers]]:
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


def facts(cells: Cells, found: Mapping[Pair, list[Numbers]]) -> Iterable[TidyRow]:
    """Yield the numbers of the first repeat and, of several repeats, means."""
    for pair, repeats in found.items():
        first = repeats[0] if repeats else dict.fromkeys(((BEFORE, RATIO), (AFTER, RATIO), (ALL, RATE), ("", AUC)))
        kept = {key: value for key, value in first.items() if key[1] != SHARE and key not in LAST}
        yield from (cells.row(*pair, *key, value) for key, value in kept.items())
        for condition, metric in MEANS if len(repeats) > 1 else ():
            values = [numbers[condition, metric] for numbers in repeats]
            # The mean is over the repeats that have such a number.
            numeric = [value for value in values if not isinstance(value, str)]
            yield cells.row(*pair, f"{condition}, {OVER}".removeprefix(", "), metric, numeric or values)


def drawn(cells: Cells, found: Mapping[Pair, list[Numbers]]) -> Iterable[TidyRow]:
    """Yield the numbers of the picture: shares and ratio in each state of the first repeat."""
    for pair, repeats in found.items():
        for (condition, metric), value in (repeats[0] if repeats else {("", SHARE): None}).items():
            if metric == SHARE or (metric == RATIO and condition != AFTER):
                yield cells.row(*pair, condition, metric, value)


def references(cells: Cells, begin: float) -> dict[str, str]:
    """Return the paper's ratios, as printed, by condition, if its data begin with this ratio, up to a tenth."""
    found = {text.condition: text.digits for text in cells.published.texts() if text.metric == RATIO}
    return found if BEFORE in found and abs(begin / float(found[BEFORE]) - 1) <= 0.1 else {}
