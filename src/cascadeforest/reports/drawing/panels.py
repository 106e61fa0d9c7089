"""The grammar of pictures: parts below each other, panels beside each other, marks in a panel.

A figure says what it shows as plain data; `Picture.draw` is the only place that knows how matplotlib draws it. Colours
and markers of a series go together (`LOOKS`), so that series can be told apart in grey and by colour-blind readers.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
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


class Mark(NamedTuple):
    """Something in a panel, and its name in the legend; empty for none."""

    draw: Callable[[Axes], object]
    label: str = ""


def line(
    x: ArrayLike,
    y: ArrayLike,
    look: Look = LOOKS[0],
    label: str = "",
    errors: ArrayLike | None = None,
    hollow: bool = False,
    size: float = 5.0,
    width: float = 1.6,
) -> Mark:
    """Return a series: a line through points, with or without error bars. NaN leaves a gap.

    A look without marker is the line only, one with the line style "none" the points only. `errors` are half the length
    of the bars, `hollow` markers are white inside; their `size` and the `width` of the line are in points.
    """
    style: dict[str, Any] = {"color": look.colour, "linestyle": look.line, "linewidth": width, "elinewidth": 0.9}
    style |= {"marker": look.marker, "markersize": size, "markerfacecolor": "white" if hollow else None}
    return Mark(lambda axes: axes.errorbar(x, y, errors, capsize=2.0, label=label or "_", **style), label)


def points(
    x: ArrayLike,
    y: ArrayLike,
    look: Look = LOOKS[0],
    label: str = "",
    size: float = 3.0,
    ring: bool = False,
    alpha: float = 1.0,
) -> Mark:
    """Return a cloud of points of one kind; of a `ring` only the edge is drawn."""
    edge = 1.0 if ring or look.marker in "x1+" else 0.0
    style: dict[str, Any] = {"color": look.colour, "marker": look.marker, "markersize": size, "markeredgewidth": edge}
    style |= {"markerfacecolor": "none" if ring else look.colour, "alpha": alpha, "linestyle": "none"}
    return Mark(lambda axes: axes.plot(x, y, label=label or "_", **style), label)


def bars(
    at: ArrayLike,
    lengths: ArrayLike,
    colour: str = BLUE,
    label: str = "",
    start: ArrayLike = 0,
    errors: ArrayLike | None = None,
    width: float = 0.8,
    horizontal: bool = False,
    hatch: str = "",
) -> Mark:
    """Return the bars of one series, which begin at `start`, go to the right if `horizontal`, and differ by `hatch`."""
    style: dict[str, Any] = {"color": colour, "hatch": hatch or None, "edgecolor": "white", "linewidth": 0.4}
    style |= {"label": label or "_", "error_kw": {"elinewidth": 0.9, "capsize": 2.0, "ecolor": BLACK}}

    def draw(axes: Axes) -> None:
        if horizontal:
            axes.barh(at, lengths, width, left=start, xerr=errors, **style)
        else:
            axes.bar(at, lengths, width, bottom=start, yerr=errors, **style)

    return Mark(draw, label)


def box(at: float, sample: ArrayLike, colour: str = BLUE) -> Mark:
    """Return a box plot: median, quartiles, whiskers to 1.5 times the box, points beyond."""
    style: dict[str, Any] = {
        "boxprops": {"facecolor": colour, "alpha": 0.35, "edgecolor": colour},
        "medianprops": {"color": BLACK, "linewidth": 1.4},
        "flierprops": {"marker": "o", "markersize": 2.5, "markerfacecolor": colour, "markeredgewidth": 0},
        "whiskerprops": {"color": colour},
        "capprops": {"color": colour},
    }
    place: dict[str, Any] = {"positions": [at], "widths": 0.6, "manage_ticks": False, "patch_artist": True}
    return Mark(lambda axes: axes.boxplot([sample], **place, **style))


def squares(
    values: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    colours: str = "cividis",
    limits: tuple[float, float] = (0.0, 1.0),
    equal: bool = True,
) -> Mark:
    """Return a map, one square a number: `values` of shape (n_y, n_x), or (n_y, n_x, 3) for colours.

    `x` and `y` are the centres of the squares, equally spaced; `limits` are the numbers at the ends of the matplotlib
    colour map; `equal`: both axes have one scale.
    """
    style: dict[str, Any] = {"aspect": "equal" if equal else "auto", "cmap": colours, "interpolation": "nearest"}
    style |= {"extent": (*_ends(x), *_ends(y)), "origin": "lower", "vmin": limits[0], "vmax": limits[1]}
    return Mark(lambda axes: axes.imshow(values, **style))


def borders(classes: np.ndarray, x: np.ndarray, y: np.ndarray) -> Mark:
    """Return lines around the areas of classes in a map with these codes, of shape (n_y, n_x)."""

    def draw(axes: Axes) -> None:
        for code in sorted(set(classes.flat))[1:]:  # the first one's borders are those of others
            axes.contour(x, y, classes == code, [0.5], colors=GREY, linewidths=0.8)

    return Mark(draw)


def rule(
    x: float | None = None, y: float | None = None, label: str = "", colour: str = GREY, line: LineStyle = (0, (2, 2))
) -> Mark:
    """Return a straight line over the whole panel, at `x` or at `y`."""
    style: dict[str, Any] = {"color": colour, "linewidth": 0.9, "linestyle": line, "label": label or "_"}
    at: Any = y if x is None else x
    return Mark(lambda axes: (axes.axhline if x is None else axes.axvline)(at, **style), label)


def text(
    x: float, y: float, words: str, anchor: str = "center bottom", colour: str = BLACK, halo: bool = False
) -> Mark:
    """Return words at a place of the panel, in units of the axes.

    `anchor` is the part of the words that is at the place: left, center or right, then bottom, center or top. `halo`: a
    white edge, for places where something is drawn below.
    """
    horizontal, vertical = anchor.split()
    style: dict[str, Any] = {"ha": horizontal, "va": vertical, "color": colour, "fontsize": 7.5}

    def draw(axes: Axes) -> None:
        from matplotlib.patheffects import withStroke

        edge = [withStroke(linewidth=2, foreground="white")] if halo else []
        axes.annotate(words, (x, y), path_effects=edge, **style)

    return Mark(draw)


def critical_differences(ranks: pd.Series, p_values: pd.DataFrame) -> Mark:
    """Return models on a scale of average ranks; a bar joins models that no test at 5 % tells apart (Demšar 2006)."""
    style: dict[str, Any] = {
        "label_fmt_left": "{label} ({rank:.1f})",
        "label_fmt_right": "({rank:.1f}) {label}",
        "label_props": {"fontsize": 7.5},
        "marker_props": {"color": BLUE, "s": 14},
        "elbow_props": {"color": GREY, "linewidth": 0.8},
        "crossbar_props": {"color": ORANGE, "linewidth": 2.2},
    }

    def draw(axes: Axes) -> None:
        from scikit_posthocs import critical_difference_diagram

        drawn = critical_difference_diagram(ranks, p_values, alpha=0.05, ax=axes, **style)
        for line in chain.from_iterable(drawn["crossbars"]):
            # Its points are in the order of a set, another one in each process.
            line.set_data(*zip(*sorted(zip(*line.get_data(), strict=True)), strict=True))

    return Mark(draw)


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

    def draw(self, axes: Axes) -> None:
        """Draw into matplotlib axes."""
        for mark in self.marks:
            mark.draw(axes)
        axes.set_title(self.title)
        if self.words:
            _write(axes, self.words, 30)
            return
        _draw_axis(self.x, axes, "x")
        _draw_axis(self.y, axes, "y")
        if not self.grid or axes.get_images():
            axes.grid(visible=False)
        if self.equal:
            axes.set_aspect("equal", adjustable="datalim")
        if self.legend == "right":
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handletextpad=0.4)
        elif self.legend:
            axes.legend(loc=self.legend)


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
        return tuple(dict.fromkeys(mark.label for mark in marks if mark.label))

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
        for i, row in enumerate(self.rows):
            for j, panel in enumerate(row):
                if panel is None:
                    grid[i, j].set_axis_off()
                else:
                    panel.draw(grid[i, j])
                if self.shared:
                    grid[i, j].label_outer()
        for bar in self.bars:
            below = [grid[position] for position in bar.panels]
            (image,) = below[0].get_images()
            place.colorbar(image, ax=below, label=bar.label, location="bottom", shrink=0.7, aspect=30)
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
) -> list[Mark]:
    """Return the points of each class at `places` of shape (n, 2), with a look of its own, whatever else is drawn."""
    clouds = {code: places[classes == code].T for code in names}
    return [points(x, y, look(code), names[code], size, alpha=alpha) for code, (x, y) in clouds.items()]


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
