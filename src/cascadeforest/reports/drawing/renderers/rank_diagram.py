"""Average ranks over data sets: critical-difference diagram, tests against one model, rank against cost (arena-ranks).

``options: {control: column}``: the model that the others are tested against (Wilcoxon's signed ranks over the data
sets, Holm's correction for the number of models), that costs are divided by, and whose number stands in for a model
that has none on a data set. The first metric of the experiment is drawn; costs among the metrics are not ranked.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pandas as pd

from cascadeforest.experiments.metrics import COST_METRICS, METRICS
from cascadeforest.reports.drawing import Cells, Table, draw, metric_head, number_cell, numbered_lines
from cascadeforest.reports.numbers import scores
from cascadeforest.reports.numbers.differences import counted_once
from cascadeforest.reports.numbers.frame import ALL, OK, UNAVAILABLE, Key, TidyRow
from cascadeforest.reports.numbers.statistics import PLACES, sign, signed_ranks

RANK, WINS, P = "average_rank", "win_rate", "p_value"
HEADS = {RANK: "average rank", WINS: "wins (% of pairs)", P: "p, Holm"}


@dataclass(frozen=True)
class Options:
    """Options of the experiment: the model that the others are compared with, and data sets that chose our defaults."""

    control: str
    chosen_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ranking:
    """The models on the data sets by one metric: numbers (lower is better), and what stands in for missing ones."""

    metric: str
    numbers: pd.DataFrame
    substituted: tuple[tuple[str, str], ...]

    @property
    def ranks(self) -> pd.DataFrame:
        """Ranks on each data set; ties share the average."""
        return self.numbers.rank(axis=1)

    def rows(self, control: str) -> Iterable[TidyRow]:
        """Yield average rank, share of the pairs with other models that are won, and corrected p of each model."""
        from statsmodels.stats.multitest import multipletests

        n, k = self.numbers.shape
        if n and k > 1:
            others = [column for column in self.numbers if column != control]
            found = [signed_ranks(self.numbers[column] - self.numbers[control]) for column in others]
            p = dict(zip(others, map(float, multipletests(found, method="holm")[1]), strict=True))
            for column, rank in self.ranks.mean().items():
                yield TidyRow(ALL, str(column), self.metric, RANK, float(rank), n=n)
                yield TidyRow(ALL, str(column), self.metric, WINS, float((k - rank) / (k - 1)), n=n)
                if column != control:
                    yield TidyRow(ALL, str(column), f"{self.metric}, against {control}", P, p[column], n=n)


def render(cells: Cells) -> Table:
    """Make picture and table."""
    experiment, options = cells.experiment, cells.options(Options)
    cells.check_columns("control", [options.control])
    scored = scores.averages(cells)
    ranked = [metric for metric in experiment.metrics if metric not in COST_METRICS and METRICS[metric] is not None]
    rankings = [_ranking(cells, scored, metric, options.control) for metric in ranked]
    rows = {row.key: row for ranking in rankings for row in ranking.rows(options.control)}
    rows |= {row.key: row for row in _cost_ratios(cells, scored, options.control)}
    ratios = [metric for metric in experiment.metrics if metric in COST_METRICS]
    tested = f"against {options.control}"
    keys = [key for one in ranked for key in ((one, RANK), (one, WINS), (f"{one}, {tested}", P))]
    keys += [(tested, f"{metric}_ratio") for metric in ratios]
    found = {column: [rows.get((ALL, column, *key)) for key in keys] for column in experiment.columns}
    lines = []
    for column, own in sorted(found.items(), key=lambda item: np.inf if item[1][0] is None else item[1][0].number):
        sizes = sorted({row.n for row in own if row is not None and row.status == OK and row.n})
        size = " to ".join(str(n) for n in dict.fromkeys(sizes[:1] + sizes[-1:]))
        words = "control" if column == options.control else "not ranked"
        apart = [words if row is None else "" for row in own]
        lines += numbered_lines(cells, (cells.label(column),), own, size, lambda row: number_cell(row).text, apart)
    heads = [f"{metric_head(metric)}: {words}" for metric in ranked for words in HEADS.values()]
    heads += [f"{metric_head(metric)}, of {cells.label(options.control)}'s" for metric in ratios]
    columns, by_metric = experiment.columns, {metric_head(one.metric): one for one in rankings}
    told = dict(
        control=cells.label(options.control),
        metric=metric_head(ranked[0]),
        datasets=list(rankings[0].numbers.index),
        left_out={name: [cells.label(c) for c in columns if c not in one.numbers] for name, one in by_metric.items()},
        substituted={name: [cells.name(*pair) for pair in one.substituted] for name, one in by_metric.items()},
        chosen_on=[name for name in rankings[0].numbers.index if experiment.base(name) in options.chosen_on],
    )
    picture = draw.Picture(_parts(cells, rankings[0], rows, ratios, options.control))
    return Table.of(cells, told, rows.values(), ("model",), heads, lines, "data sets", picture)


def _ranking(cells: Cells, scored: list[TidyRow], metric: str, control: str) -> Ranking:
    """Compare all models that have any number of a metric, on all data sets where the control has one."""
    fair, columns = counted_once(cells, cells.unequal), list(cells.experiment.columns)
    means = (sign(metric) * scores.means_of(scored, metric, fair, columns)).round(PLACES).dropna(axis=1, how="all")
    means = means[means[control].notna()] if control in means else means.iloc[:0]
    missing = [(str(dataset), str(column)) for dataset, column in means.isna().stack().loc[lambda is_na: is_na].index]
    return Ranking(metric, means.apply(lambda own: own.fillna(means[control])), tuple(missing))


def _cost_ratios(cells: Cells, scored: list[TidyRow], control: str) -> Iterable[TidyRow]:
    """Yield the geometric mean over the data sets of each model's cost divided by the control's."""
    for metric in cells.experiment.metrics:
        if metric in COST_METRICS:
            costs = scores.means_of(scored, metric, counted_once(cells), list(cells.experiment.columns))
            logs = np.log(costs.where(costs > 0))
            for column in cells.experiment.columns:
                ratios = (logs[column] - logs[control]).dropna()
                row = TidyRow(ALL, column, f"against {control}", f"{metric}_ratio", n=len(ratios) or None)
                if len(ratios):
                    yield replace(row, mean=float(np.exp(ratios.mean())))
                else:
                    told = (cells.status(*pair) for pair in product(cells.experiment.datasets, (column, control)))
                    status, note = next((one for one in told if one[0] != OK), (UNAVAILABLE, "no cost was measured"))
                    yield replace(row, status=status, note=note)


def _parts(
    cells: Cells, ranking: Ranking, rows: Mapping[Key, TidyRow], ratios: list[str], control: str
) -> list[draw.Part]:
    """Arrange the critical-difference diagram above the panels of rank against cost."""
    n, k = ranking.numbers.shape
    if not n:
        return [draw.Part(words="; ".join(dict.fromkeys(map(cells.reasons, cells.experiment.datasets))))]
    if n < 2 or k < 3:
        return [draw.Part(words="Ranks of fewer than three models, or on fewer than two data sets, are not compared.")]
    from scikit_posthocs import posthoc_nemenyi_friedman

    labels = {column: cells.label(column) for column in ranking.numbers}
    p_values = posthoc_nemenyi_friedman(ranking.numbers.to_numpy())
    p_values.index = p_values.columns = pd.Index(labels.values())
    diagram = draw.critical_differences(ranking.ranks.mean().rename(labels), p_values)
    top = draw.Panel([diagram], f"average rank by {metric_head(ranking.metric)}, {n} data sets", grid=False)
    panels = [_costs(cells, ranking, rows, metric, control) for metric in ratios]
    below = [draw.Part([panels], height=3.2)] if panels else []
    return [draw.Part([[top]], height=0.8 + 0.11 * k), *below]


def _costs(cells: Cells, ranking: Ranking, rows: Mapping[Key, TidyRow], metric: str, control: str) -> draw.Panel:
    """Draw average ranks against costs; a line joins the models that none is both better and cheaper than."""
    points = []
    for column in ranking.numbers:
        ratio = rows[ALL, column, f"against {control}", f"{metric}_ratio"]
        if ratio.mean is not None:
            points.append((ratio.mean, rows[ALL, column, ranking.metric, RANK].number, cells.label(column)))
    points.sort()
    best = [one for i, one in enumerate(points) if all(one[1] < other[1] for other in points[:i])]
    front = draw.Look(draw.GREY, "", draw.DOTTED)
    marks: list[draw.Mark] = [draw.line([x for x, *_ in best], [y for _, y, _ in best], front)]
    marks.append(draw.points([x for x, *_ in points], [y for _, y, _ in points], draw.Look(draw.BLUE), size=4))
    marks += [draw.text(x, y, label, "left bottom", halo=True) for x, y, label in best]
    x = draw.Axis(f"{metric_head(metric)}, of {cells.label(control)}'s", log=True)
    return draw.Panel(marks, "", x, draw.Axis("average rank", inverted=True))
