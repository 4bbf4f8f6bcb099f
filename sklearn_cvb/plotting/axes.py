"""Axes to draw in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes_or_new(ax: Axes | None, **keywords: Any) -> Axes:
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained", **keywords)[1]


def legend_beside(ax: Axes, **keywords: Any) -> None:
    """A legend to the right of the axes, where it cannot cover a line."""
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, **keywords)
