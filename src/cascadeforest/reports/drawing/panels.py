"""The grammar of pictures: parts below each other, panels beside each other, marks in a panel.

A figure says what it shows as plain data; `Picture.draw` is the only place that knows how matplotlib draws it. Colours
and markers of a series go together (`LOOKS`), so that series can be told apart in grey and by colour-blind readers.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure
    from matplotlib.figure import SubFigure
    from numpy.typing import ArrayLike

#: Colours of Okabe and Ito, "Color universal design" (2008), but for the grey.
BLUE, ORANGE, GREEN, PURPLE, GREY, BLACK = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#6B6B6B", "#1A1A1A"
YELLOW, SKY = "#E69F00", "#56B4E9"
#: Inches: the text width of a page, so that letters keep their size there.
WIDTH = 7.2
#: Inches of the words in place of panels, of a title above panels, and of a line of a legend.
WORDS_HEIGHT, TITLE_HEIGHT, LEGEND_LINE = 0.75, 0.3, 0.19
LEGEND_COLUMNS = 4
SOLID, DASHED, DOTTED, DASHDOT = "solid", (0, (4, 2)), (0, (1, 1)), "dashdot"
LineStyle = str | tuple[int, tuple[float, ...]]


class Look(NamedTuple):
    """Colour, marker and line of a series."""

    colour: str = BLUE
    marker: str = "o"
    line: LineStyle = SOLID


#: Looks of the first, second, ... series of a panel.
LOOKS = (
    Look(BLUE, "o", SOLID),
    Look(ORANGE, "^", (0, (5, 1.5))),
    Look(GREEN, "s", DOTTED),
    Look(PURPLE, "D", DASHDOT),
    Look(YELLOW, "v", SOLID),
    Look(SKY, "P", (0, (5, 1.5))),
    Look(GREY, "X", DOTTED),
    Look(BLACK, "*", DASHDOT),
)


def look(number: int) -> Look:
    """Return the look of a series by its number; after the last one colours come again with another marker."""
    lap, place = divmod(number, len(LOOKS))
    return LOOKS[(place + lap) % len(LOOKS)]._replace(colour=LOOKS[place].colour)


# Marks ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A series: a line through points, with or without error bars. NaN leaves a gap."""

    x: ArrayLike
    y: ArrayLike
    look: Look = LOOKS[0]  # no marker: the line only; line style "none": the points only
    label: str = ""  # in the legend; empty for none
    errors: ArrayLike | None = None  # half the length of the bars
    hollow: bool = False  # whether markers are white inside
    size: float = 5.0  # of the markers, in points
    width: float = 1.6  # of the line, in points

    def draw(self, axes: Axes) -> None:
        """Draw into matplotlib axes."""
        axes.errorbar(
            self.x,
            self.y,
            yerr=self.errors,
            color=self.look.colour,
            marker=self.look.marker,
            linestyle=self.look.line,
            linewidth=self.width,
            markersize=self.size,
            markerfacecolor="white" if self.hollow else None,
            capsize=2.0,
            elinewidth=0.9,
            label=self.label or "_",
        )


@dataclass(frozen=True)
class Points:
    """A cloud of points of one kind."""

    x: ArrayLike
    y: ArrayLike
    look: Look = LOOKS[0]
    label: str = ""
    size: float = 3.0  # of the markers, in points
    ring: bool = False  # whether only the edge of the marker is drawn
    alpha: float = 1.0  # opacity

    def draw(self, axes: Axes) -> None:
        """Draw into matplotlib axes."""
        axes.plot(
            self.x,
            self.y,
            color=self.look.colour,
            marker=self.look.marker,
            markersize=self.size,
            markeredgewidth=1.0 if self.ring or self.look.marker in "x1+" else 0.0,
            markerfacecolor="none" if self.ring else self.look.colour,
            alpha=self.alpha,
            linestyle="none",
            label=self.label or "_",
        )


@dataclass(frozen=True)
class Bars:
    """Bars of one series."""

    at: ArrayLike  # places on the axis
    lengths: ArrayLike
    colour: str = BLUE
    label: str = ""
    start: ArrayLike | None = None  # where bars begin, for stacks
    errors: ArrayLike | None = None  # half the length of error bars
    width: float = 0.8  # of a bar, in units of the axis
    horizontal: bool = False  # whether bars go to the right
    hatch: str = ""  # so that series differ in grey too

    def draw(self, axes: Axes) -> None:
        """Draw into matplotlib axes."""
        common: dict[str, Any] = {
            "color": self.colour,
            "label": self.label or "_",
            "hatch": self.hatch or None,
            "edgecolor": "white",
            "linewidth": 0.4,
            "error_kw": {"elinewidth": 0.9, "capsize": 2.0, "ecolor": BLACK},
        }
        start = 0 if self.start is None else self.start
        if self.horizontal:
            axes.barh(self.at, self.lengths, self.width, left=start, xerr=self.errors, **common)
        else:
            axes.bar(self.at, self.lengths, self.width, bottom=start, yerr=self.errors, **common)


@dataclass(frozen=True)
class Boxes:
    """Box plots: median, quartiles, whiskers to 1.5 times the box, points beyond."""

    at: Sequence[float]  # places on the x axis
    samples: Sequence[ArrayLike]
    colour: str = BLUE

    def draw(self, axes: Axes) -> None:
        """Draw into matplotlib axes."""
        axes.boxplot(
            self.samples,
            positions=self.at,
            widths=0.6,
            manage_ticks=False,
            patch_artist=True,
            boxprops={"facecolor": self.colour, "alpha": 0.35, "edgecolor": self.colour},
            medianprops={"color": BLACK, "linewidth": 1.4},
            whiskerprops={"color": self.colour},
            capprops={"color": self.colour},
            flierprops={"marker": "o", "markersize": 2.5, "markerfacecolor": self.colour, "markeredgewidth": 0},
        )


@dataclass(frozen=True)
class Map:
    """A map: one square a number."""

    values: np.ndarray  # of shape (n_y, n_x), or (n_y, n_x, 3) for colours
    x: np.ndarray  # centres of the squares along x, equally spaced
    y: np.ndarray  # and along y
    colours: str = "cividis"  # a matplotlib colour map
    limits: tuple[float, float] = (0.0, 1.0)  # numbers at the ends of the colour map
    equal: bool = True  # whether both axes have one scale

    def draw(self, axes: Axes) -> Any:
        """Draw into matplotlib axes and return the image."""
        return axes.imshow(
            self.values,
            extent=(*_ends(self.x), *_ends(self.y)),
            origin="lower",
            aspect="equal" if self.equal else "auto",
            interpolation="nearest",
            cmap=self.colours,
            vmin=self.limits[0],
            vmax=self.limits[1],
        )


@dataclass(frozen=True)
class Rule:
    """A straight line over the whole panel, at `x` or at `y`."""

    x: float | None = None
    y: float | None = None
    label: str = ""
    colour: str = GREY
    line: LineStyle = (0, (2, 2))

    def draw(self, axes: Axes) -> None:
        """Draw into matplotlib axes."""
        look: dict[str, Any] = {"color": self.colour, "linewidth": 0.9, "linestyle": self.line}
        for place, draw in (self.x, axes.axvline), (self.y, axes.axhline):
            if place is not None:
                draw(place, label=self.label or "_", **look)


@dataclass(frozen=True)
class Text:
    """Words at a place of the panel, in units of the axes."""

    x: float
    y: float
    words: str
    #: The part of the words that is at the place: left, center or right, then bottom, center or top.
    anchor: str = "center bottom"
    colour: str = BLACK
    bold: bool = False
    halo: bool = False  # a white edge, for places where something is drawn below

    def draw(self, axes: Axes) -> None:
        """Draw into matplotlib axes."""
        from matplotlib.patheffects import withStroke

        horizontal, vertical = self.anchor.split()
        axes.annotate(
            self.words,
            (self.x, self.y),
            ha=horizontal,
            va=vertical,
            fontsize=7.5,
            color=self.colour,
            fontweight="bold" if self.bold else "normal",
            path_effects=[withStroke(linewidth=2, foreground="white")] if self.halo else [],
        )


@dataclass(frozen=True)
class CriticalDifferences:
    """Models on a scale of average ranks; a bar joins models that no test tells apart (Demšar 2006)."""

    ranks: pd.Series  # by name
    p_values: pd.DataFrame  # of each two models
    level: float = 0.05

    def draw(self, axes: Axes) -> None:
        """Draw into matplotlib axes."""
        from scikit_posthocs import critical_difference_diagram

        critical_difference_diagram(
            self.ranks,
            self.p_values,
            alpha=self.level,
            ax=axes,
            label_fmt_left="{label} ({rank:.1f})",
            label_fmt_right="({rank:.1f}) {label}",
            label_props={"fontsize": 7.5},
            marker_props={"color": BLUE, "s": 14},
            elbow_props={"color": GREY, "linewidth": 0.8},
            crossbar_props={"color": ORANGE, "linewidth": 2.2},
        )


Mark = Line | Points | Bars | Boxes | Map | Rule | Text | CriticalDifferences

# Panels --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Axis:
    """One axis of a panel."""

    label: str = ""  # with the unit
    limits: tuple[float | None, float | None] | None = None  # None leaves an end to matplotlib
    log: bool = False
    ticks: Mapping[float, str] | Literal["whole"] | None = None  # place to words, or whole numbers
    inverted: bool = False  # from the larger to the smaller end
    upright: bool = False  # words of the ticks run upwards: there is room for many


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    marks: Sequence[Mark] = ()  # the first at the bottom
    title: str = ""  # at the left
    x: Axis = Axis()
    y: Axis = Axis()
    legend: str = ""  # its place in matplotlib's words, "right": beside the panel; empty for none
    equal: bool = False  # whether both axes have one scale
    width: float = 1.0  # relative to the panels beside it
    grid: bool = True  # never over maps
    words: str = ""  # in place of the axes: why there are none

    def draw(self, axes: Axes) -> list[Any]:
        """Draw into matplotlib axes and return the images of the maps."""
        images = [image for mark in self.marks if (image := mark.draw(axes)) is not None]
        axes.set_title(self.title)
        if self.words:
            _write(axes, self.words, 30)
            return []
        _draw_axis(self.x, axes, "x")
        _draw_axis(self.y, axes, "y")
        if not self.grid or any(isinstance(mark, Map) for mark in self.marks):
            axes.grid(visible=False)
        if self.equal:
            axes.set_aspect("equal", adjustable="datalim")
        if self.legend == "right":
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handletextpad=0.4)
        elif self.legend:
            axes.legend(loc=self.legend)
        return images


@dataclass(frozen=True)
class ColourBar:
    """The colours of maps, below the panels at these rows and columns; the map of the first one gives the colours."""

    panels: Sequence[tuple[int, int]]
    label: str


@dataclass(frozen=True)
class Part:
    """A row, or rows, of panels across the picture, or words in their place."""

    rows: Sequence[Sequence[Panel | None]] = ()  # None leaves a place empty
    title: str = ""  # above the panels
    words: str = ""  # why there are no panels
    height: float = 2.3  # inches of one row of panels
    bars: Sequence[ColourBar] = ()
    shared: bool = False  # panels of a column share the x axis, those of a row the y axis
    legend: bool = False  # below the panels, of all their marks

    @property
    def inches(self) -> float:
        """Height of the whole part."""
        head = TITLE_HEIGHT if self.title else 0.0
        below = 0.55 * bool(self.bars) + LEGEND_LINE * -(-len(self.names()) // LEGEND_COLUMNS) * self.legend
        return head + (len(self.rows) * self.height + below if self.rows else WORDS_HEIGHT)

    def names(self) -> tuple[str, ...]:
        """Return the names of the marks, each once."""
        marks = [mark for row in self.rows for panel in row if panel for mark in panel.marks]
        return tuple(dict.fromkeys(filter(None, (getattr(mark, "label", "") for mark in marks))))

    def draw(self, place: SubFigure) -> None:
        """Draw into a part of a matplotlib figure."""
        if self.title:
            place.suptitle(self.title, x=0.012, ha="left", fontsize=9, fontweight="bold")
        if not self.rows:
            _write(place.subplots(), self.words, 90)
            return
        columns = zip(*self.rows, strict=True)
        widths = [max((panel.width for panel in column if panel), default=1.0) for column in columns]
        share: dict[str, Any] = {"sharex": "col", "sharey": "row"} if self.shared else {}
        grid = place.subplots(len(self.rows), len(widths), width_ratios=widths, squeeze=False, **share)
        images: dict[tuple[int, int], Any] = {}
        for i, row in enumerate(self.rows):
            for j, panel in enumerate(row):
                if panel is None:
                    grid[i, j].set_axis_off()
                elif drawn := panel.draw(grid[i, j]):
                    images[i, j] = drawn[0]
                if self.shared:
                    grid[i, j].label_outer()
        for bar in self.bars:
            below = [grid[position] for position in bar.panels]
            place.colorbar(images[bar.panels[0]], ax=below, label=bar.label, location="bottom", shrink=0.7, aspect=30)
        if self.legend:
            _draw_legend(place, place.axes, "outside lower center", LEGEND_COLUMNS)


@dataclass(frozen=True)
class Picture:
    """A whole picture: parts from the top to the bottom."""

    parts: Sequence[Part]
    legend: bool = False  # one below everything, of the marks of all panels
    legend_columns: int = LEGEND_COLUMNS

    def draw(self) -> MatplotlibFigure:
        """Return the matplotlib figure."""
        from matplotlib.figure import Figure as MatplotlibFigure

        names = dict.fromkeys(name for part in self.parts for name in part.names()) if self.legend else {}
        below = [0.1 + LEGEND_LINE * -(-len(names) // self.legend_columns)] if names else []
        heights = [part.inches for part in self.parts] + below
        picture = MatplotlibFigure(figsize=(WIDTH, sum(heights)), layout="constrained")
        # The layout is computed for letters at the screen's resolution; in the files they are up to a twentieth wider.
        engine: Any = picture.get_layout_engine()
        engine.set(w_pad=0.1)
        places = picture.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
        for part, place in zip(self.parts, places, strict=False):
            part.draw(place)
        if names:
            _draw_legend(places[-1], picture.axes, "center", self.legend_columns)
        return picture


def class_points(
    places: np.ndarray, classes: np.ndarray, names: Mapping[int, str], size: float = 3.0, alpha: float = 1.0
) -> list[Points]:
    """Return the points of each class at `places` of shape (n, 2), with a look of its own, whatever else is drawn."""
    clouds = {code: places[classes == code].T for code in names}
    return [Points(x, y, look(code), names[code], size, alpha=alpha) for code, (x, y) in clouds.items()]


def layers_axis(n_layers: int) -> Axis:
    """Return an x axis of layers 1 to `n_layers`."""
    return Axis("layer", (0.5, max(n_layers, 2) + 0.5), ticks="whole")


def _ends(centres: np.ndarray) -> tuple[float, float]:
    """Return the ends of an axis of squares whose centres are equally spaced."""
    first, last = float(centres[0]), float(centres[-1])
    half = (last - first) / (len(centres) - 1) / 2
    return first - half, last + half


def _draw_legend(place: SubFigure, panels: Sequence[Axes], where: str, n_columns: int) -> None:
    """Name the marks of panels, each name once."""
    entries: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        place.legend(list(entries.values()), list(entries), loc=where, ncols=n_columns)


def _write(axes: Axes, words: str, width: int) -> None:
    """Write words in place of axes, in lines of so many letters."""
    axes.set_axis_off()
    look: dict[str, Any] = {"ha": "center", "va": "center", "color": GREY, "style": "italic"}
    axes.text(0.5, 0.5, textwrap.fill(words, width), transform=axes.transAxes, **look)


def _draw_axis(axis: Axis, axes: Axes, name: Literal["x", "y"]) -> None:
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    own = axes.xaxis if name == "x" else axes.yaxis
    own.set_label_text(axis.label)
    if axis.log:
        (axes.set_xscale if name == "x" else axes.set_yscale)("log")
    if axis.limits is not None:
        (axes.set_xlim if name == "x" else axes.set_ylim)(*axis.limits)
    if axis.ticks == "whole":
        own.set_major_locator(MaxNLocator(nbins=10, steps=(1, 2, 5, 10), integer=True, min_n_ticks=1))
        own.set_major_formatter("{x:,.0f}")
    elif axis.log and axis.ticks is None:
        low, high = own.get_view_interval()
        own.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 200 * low else (1,)))
        own.set_major_formatter("{x:,g}")
        own.set_minor_locator(NullLocator())
    elif axis.ticks is not None:
        own.set_ticks(list(axis.ticks), list(axis.ticks.values()), rotation=90 if axis.upright else 0)
    if axis.inverted:
        own.set_inverted(True)
