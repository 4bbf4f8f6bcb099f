"""Drawings of sentences and trees in axes of matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn_cvb.display.arcs import CAPTION, COLOURS, DASHES, SIZES, STROKE, Drawing, Stroke
from sklearn_cvb.plotting.axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Points; smaller where the axes are.
_FONT_SIZE = 10.0
_POINTS = 72.0


def draw(drawing: Drawing, ax: Axes | None) -> Axes:
    """Draw texts and strokes, in new axes as large as they need or as small as given ones are.

    Parameters
    ----------
    drawing : Drawing
    ax : matplotlib.axes.Axes or None

    Returns
    -------
    matplotlib.axes.Axes
    """
    sides = drawing.width, drawing.top - drawing.bottom
    size = _FONT_SIZE
    if ax is None:
        # Beside the picture constrained axes keep .04 inches.
        ax = axes_or_new(None, figsize=[0.1 + side * size / _POINTS for side in sides])
        room = sides
    else:
        pixels = ax.get_window_extent()
        points = [side * _POINTS / ax.figure.dpi for side in (pixels.width, pixels.height)]
        size = min(size, *(have / side for have, side in zip(points, sides, strict=True)))
        room = points[0] / size, points[1] / size
    # A unit is the size of a letter, in axes that have room to spare as well.
    left, bottom = (sides[0] - room[0]) / 2, drawing.bottom + (sides[1] - room[1]) / 2
    ax.set(xlim=(left, left + room[0]), ylim=(bottom, bottom + room[1]), aspect="equal")
    ax.set_axis_off()
    _draw(ax, drawing, size)
    return ax


def _draw(ax: Axes, drawing: Drawing, size: float) -> None:
    """Put strokes and texts into axes in which a unit is `size` points."""
    from matplotlib import rcParams
    from matplotlib.patches import PathPatch, Polygon

    ink = rcParams["text.color"]
    for stroke in drawing.strokes:
        colour = COLOURS.get(stroke.kind, ink)
        # Dashes are in units of the line's width.
        dashes = [length / STROKE for length in DASHES.get(stroke.kind, ())]
        ax.add_patch(
            PathPatch(
                _path(stroke),
                fill=False,
                edgecolor=colour,
                linewidth=STROKE * size,
                linestyle=(0, dashes) if dashes else "solid",
                capstyle="butt",
            )
        )
        if stroke.tip:
            ax.add_patch(Polygon(stroke.tip, facecolor=colour, edgecolor="none"))
    for text in drawing.texts:
        ax.text(
            text.x,
            text.y,
            text.text,
            ha="left" if text.kind == CAPTION else "center",
            va="baseline",
            fontsize=size * SIZES[text.kind],
            # A dollar sign is a word.
            parse_math=False,
        )


def _path(stroke: Stroke) -> Any:
    """The steps of a stroke as matplotlib has them."""
    from matplotlib.path import Path

    codes = {"M": Path.MOVETO, "L": Path.LINETO, "Q": Path.CURVE3}
    points = [point for _, ends in stroke.steps for point in ends]
    return Path(points, [codes[letter] for letter, ends in stroke.steps for _ in ends])
