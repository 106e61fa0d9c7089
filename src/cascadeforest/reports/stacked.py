"""Pictures of parts that stand below each other, one for each data set and model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cascadeforest.reports.figure import WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

#: Inches around panels. The layout is computed for letters at the screen's resolution; in the files they are up to a
#: twentieth wider, and with matplotlib's own 0.04 inches long names would be cut.
_PAD = 0.13


def stacked(heights: Sequence[float]) -> tuple[MatplotlibFigure, list[Any]]:
    """Make a picture of the text's width.

    Parameters
    ----------
    heights : sequence of float
        Inches of the parts.

    Returns
    -------
    picture : matplotlib Figure
    parts : list of matplotlib SubFigure
    """
    from matplotlib.figure import Figure as MatplotlibFigure

    picture = MatplotlibFigure(figsize=(WIDTH, sum(heights)), layout="constrained")
    picture.get_layout_engine().set(w_pad=_PAD)
    parts = picture.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    return picture, list(parts)


def title(part: Any, words: str) -> None:
    """Write the name of a part above its panels."""
    part.suptitle(words, x=0.012, ha="left", fontsize=9, fontweight="bold")
