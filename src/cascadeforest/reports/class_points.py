"""Points of several classes in the plane, told apart by colour, marker and name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cascadeforest.reports.figure import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes

#: Colour and marker change together, and a colour meets another marker each time: readable in grey.
_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, "#E69F00", "#56B4E9", GREY)
_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
#: Names of at most so many letters are written into the panels, others into a legend of at most so many classes.
_SHORT, _N_LISTED = 3, 20


def draw_classes(axes: Axes, plane: np.ndarray, classes: np.ndarray, names: Mapping[int, str]) -> None:
    """Draw the points of each class; short names stand above the point next to the middle of the class.

    Parameters
    ----------
    axes : matplotlib axes
        The panel.
    plane : ndarray of shape (n, 2)
        Coordinates.
    classes : ndarray of shape (n,)
        Class codes.
    names : mapping
        Code to name.
    """
    import numpy as np
    from matplotlib.patheffects import withStroke

    for code, name in names.items():
        points = plane[classes == code]
        lap, place = divmod(code, len(_COLOURS))
        axes.plot(
            *points.T,
            color=_COLOURS[place],
            marker=_MARKERS[(place + lap) % len(_MARKERS)],
            markersize=3,
            markeredgewidth=0,
            alpha=0.75,
            linestyle="none",
            label=name,
        )
        if not has_legend(names) and _are_short(names):
            middle = np.median(points, axis=0)
            nearest = points[np.argmin(np.sum((points - middle) ** 2, axis=1))]
            axes.annotate(
                name,
                nearest,
                (0, 5),  # above: small clusters would be hidden
                textcoords="offset points",
                ha="center",
                fontsize=7.5,
                fontweight="bold",
                color=BLACK,
                path_effects=[withStroke(linewidth=2, foreground="white")],
            )
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("t-SNE 1")
    axes.set_ylabel("t-SNE 2")


def _are_short(names: Mapping[int, str]) -> bool:
    return max(map(len, names.values())) <= _SHORT


def has_legend(names: Mapping[int, str]) -> bool:
    """Return whether names of classes stand in a legend: too long for a panel, and not too many."""
    return not _are_short(names) and len(names) <= _N_LISTED
