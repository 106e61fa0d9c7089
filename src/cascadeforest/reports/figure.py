"""A figure: a picture, the numbers drawn in it, its caption. Files are the same bytes for the same results.

One style for all of them, whatever the user's matplotlib settings say: colours that colour-blind readers can tell apart
and that stay apart in grey (series differ in marker and line too), black on white also on a dark page.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cascadeforest.data.errors import ConfigError
from cascadeforest.data.files import atomic_write
from cascadeforest.reports.results import FIGURE, Results, is_figure
from cascadeforest.reports.table import make_table
from cascadeforest.reports.tidy import TidyRow, to_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

SUFFIXES = (".svg", ".png", ".csv")
#: Those of `SUFFIXES` whose bytes depend on the version of matplotlib too.
PICTURE_SUFFIXES = (".svg", ".png")
#: Colours of Okabe and Ito, "Color universal design" (2008), but for the grey.
BLUE, ORANGE, GREEN, PURPLE, GREY, BLACK = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#6B6B6B", "#1A1A1A"
#: Inches: the text width of a page, so that letters keep their size there.
WIDTH = 7.2
#: Names of clip paths in matplotlib's SVG.
_CLIP = re.compile(rb"(?<=#)p[0-9a-f]{10}(?=\))|(?<=<clipPath id=\")p[0-9a-f]{10}")
_STYLE = MappingProxyType(
    {
        "figure.facecolor": "white",
        "savefig.facecolor": "white",
        "figure.dpi": 100,
        "savefig.dpi": 200,
        "font.family": ["DejaVu Sans"],  # comes with matplotlib: the same letters on every machine
        "font.size": 8,
        "axes.titlesize": 8.5,
        "axes.titlelocation": "left",
        "axes.labelsize": 8,
        "axes.labelcolor": BLACK,
        "axes.edgecolor": GREY,
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "grid.color": "#E3E3E3",
        "grid.linewidth": 0.6,
        "xtick.color": GREY,
        "ytick.color": GREY,
        "xtick.labelcolor": BLACK,
        "ytick.labelcolor": BLACK,
        "xtick.labelsize": 7.5,
        "ytick.labelsize": 7.5,
        "legend.fontsize": 7.5,
        "legend.frameon": False,
        "lines.linewidth": 1.6,
        "lines.markersize": 5,
        "text.color": BLACK,
        # Letters as shapes: as text they would be set in whatever font the reader has.
        "svg.fonttype": "path",
        "svg.hashsalt": "cascadeforest",
    }
)


@dataclass(frozen=True)
class Figure:
    """A figure, ready to be drawn.

    Parameters
    ----------
    caption : str
        What stands below it: what is drawn, and the paper's numbers.
    alt : str
        The picture in words, for who cannot see it.
    rows : tuple of TidyRow
        The numbers that are drawn.
    draw : callable
        Gives the matplotlib figure; it is called within `_STYLE`.
    """

    caption: str
    alt: str
    rows: tuple[TidyRow, ...]
    draw: Callable[[], MatplotlibFigure]

    def files(self) -> dict[str, bytes]:
        """Suffix to content."""
        return {**self.pictures(), ".csv": self.csv()}

    def csv(self) -> bytes:
        """The drawn numbers as a tidy table."""
        return to_csv(self.rows).encode("utf-8")

    def pictures(self) -> dict[str, bytes]:
        """Suffix to picture; neither date nor host are in it."""
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(_STYLE)
            picture = self.draw()
            FigureCanvasAgg(picture)
            # One layout for both files, computed once.
            picture.draw_without_rendering()
            picture.set_layout_engine("none")
            return {
                ".svg": _numbered(_saved(picture, "svg", {"Date": None, "Title": self.alt})),
                ".png": _saved(picture, "png", {"Software": None, "Description": self.alt}),
            }


def _saved(picture: MatplotlibFigure, form: str, metadata: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    picture.savefig(stream, format=form, metadata=metadata)
    return stream.getvalue()


def _numbered(svg: bytes) -> bytes:
    """Name clip paths by their order.

    matplotlib names them by digests of their places, and the layout's solver moves these in the last bits from call to
    call: too little for any other number in the file.
    """
    names = dict.fromkeys(_CLIP.findall(svg))
    numbers = {name: b"clip%d" % number for number, name in enumerate(names, 1)}
    return _CLIP.sub(lambda found: numbers[found.group()], svg)


def write_words(part: Any, words: str) -> None:
    """Write words in the place of panels.

    Parameters
    ----------
    part : matplotlib figure or subfigure
        The place.
    words : str
        A sentence; long ones are broken into lines.
    """
    import textwrap

    axes = part.subplots()
    axes.set_axis_off()
    text = textwrap.fill(words, 90)
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=GREY, style="italic")


def make_figure(name: str, results: Results) -> Figure:
    """Draw one experiment.

    Parameters
    ----------
    name : str
        Id of the experiment.
    results : Results
        What it is made from.

    Returns
    -------
    Figure

    Raises
    ------
    UserError
        If the experiment is unknown or not implemented.
    ConfigError
        If it is no figure.
    """
    experiment = results.experiment(name)
    figure = make_table(name, results).figure if is_figure(experiment) else None
    if figure is None:
        raise ConfigError(
            f"config/experiments/{experiment['paper']}.yaml: {name}/kind is '{experiment['kind']}', render is "
            f"'{experiment['render']}': this gives no picture. Take a renderer that draws, and 'kind: {FIGURE}'."
        )
    return figure


def write_figure(name: str, files: Mapping[str, bytes], folder: Path) -> None:
    """Write the files of a figure.

    Parameters
    ----------
    name : str
        Id of the experiment.
    files : mapping
        Suffix to content, from `Figure.files`.
    folder : Path
        Folder of the figures.
    """
    for suffix, content in files.items():
        atomic_write(folder / f"{name}{suffix}", content)
