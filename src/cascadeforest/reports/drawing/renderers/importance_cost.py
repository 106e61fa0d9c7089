"""What importances cost, with the training of the model before (interp-fig7): bars for each data set.

``options: {columns: {name: {model: ..., extra: ..., label: ...}}}`` names the importances; the cost with every other
importance is divided by the cost with the first, and that of each by the training time, within each repeat. Shown is
the median over the repeats: a repeat that other work slowed down does not move it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from statistics import median

from cascadeforest.data.errors import ConfigError
from cascadeforest.reports.drawing import Cells, Row, Table, draw, number_cell, number_text, numbered_lines, ratio_text
from cascadeforest.reports.numbers.costs import ENDS
from cascadeforest.reports.numbers.frame import Key, TidyRow
from cascadeforest.reports.numbers.importances import IRRELEVANT, ImportanceColumn, importance_columns
from cascadeforest.reports.numbers.metrics import COST_FLOORS, IMPORTANCE_COST, WHOLE_COST

FIT, RATIO, OF_TRAINING = "fit_cpu_seconds", f"{WHOLE_COST}_ratio", f"{IMPORTANCE_COST}_ratio"
TRAINING = "against training"
HATCHES = ("//", "..", "xx", "--")
COPIES = f"+{IRRELEVANT}"
Columns = dict[str, ImportanceColumn]


def render(cells: Cells) -> Table:
    """Make picture and table."""
    experiment, columns = cells.experiment, importance_columns(cells.experiment)
    model, *more = {column.model for column in columns.values()}
    if more:
        raise ConfigError(f"{experiment.place}/options/columns have several models; take importances of one.")
    found = {row.key: row for dataset in experiment.datasets for row in _rows(cells, dataset, model, columns)}
    first, *others = labels = [column.label for column in columns.values()]
    ratios, floor = [f"{other} : {first}" for other in others], COST_FLOORS["CPU s"]
    told = dict(labels=labels, ratios=ratios, floor=floor, columns=columns)
    ratios = [*(f"{label} : training" for label in labels), *ratios]
    heads = [f"{words} (CPU s)" for words in ("training", *labels, *(f"training and {label}" for label in labels))]
    lines = [line for dataset in experiment.datasets for line in _lines(cells, dataset, model, columns, found)]
    size = "repeats × training rows × columns"
    panels = [_panel(cells, dataset, model, columns, found) for dataset in experiment.datasets]
    across = 2 if len(panels) in (2, 4) else min(len(panels), 3)
    panels += [None] * (-len(panels) % across)
    grid = [panels[k : k + across] for k in range(0, len(panels), across)]
    picture = draw.Picture([draw.Part(grid, height=2.1)], legend=True)
    return Table.of(cells, told, found.values(), ("data set",), [*heads, *ratios], lines, size, picture)


def _rows(cells: Cells, dataset: str, model: str, columns: Columns) -> Iterable[TidyRow]:
    fits = cells.metric(dataset, model, FIT)
    yield cells.row(dataset, model, "", FIT, fits)
    whole: dict[str, list[float]] = {}
    for name, column in columns.items():
        own = [float(run["cpu_seconds"]) for run in cells.arrays(dataset, model, column.extra)]
        whole[name] = [fit + cost for fit, cost in zip(fits, own, strict=True)]
        for metric, values in ((IMPORTANCE_COST, own), (WHOLE_COST, whole[name])):
            yield replace(cells.row(dataset, model, "", metric, values), model=name)
    first, *others = columns
    compared = [
        (name, TRAINING, OF_TRAINING, [w - f for w, f in zip(whole[name], fits, strict=True)], fits) for name in columns
    ]
    compared += [(name, f"against {first}", RATIO, whole[name], whole[first]) for name in others]
    for name, condition, metric, numerators, denominators in compared:
        if not fits:
            yield replace(cells.row(dataset, model, condition, metric, None), model=name)
            continue
        ratios = [own / other for own, other in zip(numerators, denominators, strict=True)]
        yield TidyRow(dataset, name, condition, metric, median(ratios), n=len(ratios))
        for words, end in ENDS.items() if len(ratios) > 1 else ():
            yield TidyRow(dataset, name, f"{condition}, {words}", metric, end(ratios), n=1)


def _lines(cells: Cells, dataset: str, model: str, columns: Columns, found: Mapping[Key, TidyRow]) -> Iterable[Row]:
    own = [row for row in found.values() if row.dataset == dataset and not row.condition.endswith(tuple(ENDS))]
    # Costs by metric, importances in the order of the options.
    own.sort(key=lambda row: (FIT, IMPORTANCE_COST, WHOLE_COST, OF_TRAINING, RATIO).index(row.metric))

    def text(row: TidyRow) -> str:
        return ratio_text(row, found) if row.metric in (OF_TRAINING, RATIO) else number_cell(row).text

    ran = cells.all(dataset, model)
    sizes = [len(run["importances"]) for one in columns.values() for run in cells.arrays(dataset, model, one.extra)]
    size = f"{len(ran)} × {min(cell.n_train for cell in ran):,} × {sizes[0]:,}" if ran else ""
    return numbered_lines(cells, (dataset,), own, size, text)


def _panel(cells: Cells, dataset: str, model: str, columns: Columns, found: Mapping[Key, TidyRow]) -> draw.Panel | None:
    """Training, and each importance on top of it."""
    # A long name would run into the next panel; the caption says what is left out.
    title, fit = dataset.removesuffix(COPIES), found[dataset, model, "", FIT].mean
    if fit is None:
        return draw.Panel(title=title, words=cells.reason(dataset, model))
    first, marks = next(iter(columns)), list[draw.Mark]()
    whole = [found[dataset, name, "", WHOLE_COST] for name in columns]
    tops = [row.number + (row.std or 0.0) for row in whole]
    for k, (name, column) in enumerate(columns.items()):
        cost, spread = found[dataset, name, "", IMPORTANCE_COST].number, whole[k].std
        errors = None if spread is None else [spread]
        look = draw.LOOKS[k % len(draw.LOOKS)].colour, column.label
        marks.append(draw.bars([k], [fit], draw.GREY, "training", width=0.6))
        marks.append(draw.bars([k], [cost], *look, [fit], errors, 0.6, hatch=HATCHES[k % len(HATCHES)]))
        if name != first:
            words = f"{number_text(RATIO, found[dataset, name, f'against {first}', RATIO].number, None)} : 1"
            marks.append(draw.text(k, tops[k] + 0.02 * max(tops), words, halo=True))
    x = draw.Axis(limits=(-0.6, len(columns) - 0.4), ticks={k: one.label for k, one in enumerate(columns.values())})
    return draw.Panel(marks, title, x, draw.Axis("CPU seconds", (0, 1.2 * max(tops))))
