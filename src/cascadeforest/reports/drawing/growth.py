"""The table of what models did while they were fitted, folded away below a main table."""

from collections import Counter
from collections.abc import Sequence

from cascadeforest.reports.drawing.view import Cell, Row, TableView, metric_head, number_text
from cascadeforest.reports.numbers.cells import Cells
from cascadeforest.reports.numbers.growth import CHOSEN, GROWN, KEPT, METRICS, growth_numbers
from cascadeforest.reports.numbers.metrics import known_metric

NONE = Cell("–", is_word=True)
#: Shown as the values of the repeats, of which a mean would say little.
_BY_VALUE = frozenset({KEPT, GROWN, *CHOSEN.values()})


def folded_growth(cells: Cells) -> tuple[TableView, ...]:
    """Return a table with a line for each data set and model that grew layers or chose something, if any did."""
    found = {pair: numbers for pair in cells.pairs if (numbers := growth_numbers(cells, pair))}
    metrics = [name for name in METRICS if any(name in numbers for numbers in found.values())]
    if not metrics:
        return ()
    lines = [
        Row(
            (dataset, cells.label(column)),
            tuple(Cell(_text(name, numbers[name])) if name in numbers else NONE for name in metrics),
            size=str(len(next(iter(numbers.values())))),
        )
        for (dataset, column), numbers in found.items()
    ]
    words = {"n_layers": "layers kept", "grown_layers": "layers grown"}
    if cells.common.layers_as != "layers":
        words = {name: text.replace("layers", cells.common.layers_as) for name, text in words.items()}
    heads = tuple(words.get(name, metric_head(name)) for name in metrics)
    title = (
        "What the models grew and chose: values of the repeats, 2 (7) being 2 in 7 of them, or means (least to most)"
    )
    experiment = cells.experiment
    view = TableView(
        experiment.id, title, cells.results.suite, ("data set", "model"), heads, "repeats", tuple(lines), (), ()
    )
    return (view,)


def _text(name: str, values: Sequence[float]) -> str:
    if name not in _BY_VALUE:
        mean = sum(values) / len(values)
        ends = [number_text(name, end, None) for end in (min(values), max(values))]
        text = f"{mean:,.1f}" if not known_metric(name).percent else number_text(name, mean, None)
        return text if ends[0] == ends[1] else f"{text} ({' to '.join(ends)})"
    counts = sorted(Counter(values).items())
    return ", ".join(f"{value:g}" + (f" ({n})" if len(counts) > 1 else "") for value, n in counts)
