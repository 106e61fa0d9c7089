"""A figure: a picture, the numbers drawn in it, its caption. Files are the same bytes for the same results.

One style for all of them, whatever the user's matplotlib settings say: colours that colour-blind readers can tell apart
and that stay apart in grey (series differ in marker and line too), black on white also on a dark page.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cascadeforest.reports.drawing.panels import BLACK, GREY
from cascadeforest.reports.numbers.frame import TidyRow, to_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

#: Names of clip paths in matplotlib's SVG.
_CLIP = re.compile(rb"(?<=#)p[0-9a-f]{10}(?=\))|(?<=<clipPath id=\")p[0-9a-f]{10}")
_STYLE: Mapping[str, object] = {
    **dict.fromkeys(("figure.facecolor", "savefig.facecolor"), "white"),
    **dict.fromkeys(("axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor", "text.color"), BLACK),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), GREY),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    **dict.fromkeys(("axes.axisbelow", "axes.grid"), True),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 7.5),
    "savefig.dpi": 150,
    "font.family": ["DejaVu Sans"],  # comes with matplotlib: the same letters on every machine
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    # Letters as shapes: as text they would be set in whatever font the reader has.
    "svg.fonttype": "path",
    "svg.hashsalt": "cascadeforest",
}


@dataclass(frozen=True)
class Figure:
    """A figure, ready to be drawn."""

    caption: str  # what is drawn, and the paper's numbers
    alt: str  # the picture in words, for who cannot see it
    rows: tuple[TidyRow, ...]  # the numbers that are drawn
    draw: Callable[[], MatplotlibFigure]  # called within `_STYLE`

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
                ".png": _with_palette(_saved(picture, "png", {"Software": None, "Description": self.alt})),
            }


def _saved(picture: MatplotlibFigure, form: str, metadata: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    picture.savefig(stream, format=form, metadata=metadata)
    return stream.getvalue()


def _with_palette(png: bytes) -> bytes:
    """Reduce to 256 colours, a third of the bytes: few differ from the full colours by more than 10 of 255."""
    from PIL import Image, PngImagePlugin

    full, words, stream = Image.open(io.BytesIO(png)), PngImagePlugin.PngInfo(), io.BytesIO()
    words.add_text("Description", full.info["Description"])
    few = full.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
    few.save(stream, "PNG", pnginfo=words, dpi=full.info["dpi"], optimize=True)
    return stream.getvalue()


def _numbered(svg: bytes) -> bytes:
    """Name clip paths by their order: matplotlib's names change with the last bits of their places, in each call."""
    names = dict.fromkeys(_CLIP.findall(svg))
    numbers = {name: b"clip%d" % number for number, name in enumerate(names, 1)}
    return _CLIP.sub(lambda found: numbers[found.group()], svg)
