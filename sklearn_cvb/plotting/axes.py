"""Axes to draw in, legends, colours and names of states, tables of numbers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

# Inches: new figures are as wide as a column of text, so that letters have one size in all.
WIDTH = 6.4
# What names an algorithm, first match first, and its colour in all pictures.
_ALGORITHMS = (
    ("Viterbi EM", "tab:pink"),
    ("CVB token", "tab:green"),
    ("CVB", "tab:red"),
    ("VB", "tab:orange"),
    ("Gibbs|Hastings", "tab:purple"),
    ("EM|ML|MAP", "tab:blue"),
)
# This many letters of tick labels fit an inch.
_LETTERS_PER_INCH = 11
# Shares below half a per cent have no number in a table.
_SMALLEST_SHARE = 0.005


def axes_or_new(ax: Axes | None, **keywords: Any) -> Axes:
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained", **keywords)[1]


def panels(axes: Any, n: int, height: float) -> np.ndarray:
    """The given axes, or n in a new figure, two in a row."""
    if axes is None:
        import matplotlib.pyplot as plt

        n_columns, n_rows = min(n, 2), -(-n // 2)
        size = (WIDTH, height * n_rows)
        axes = plt.subplots(n_rows, n_columns, figsize=size, layout="constrained")[1]
        for ax in np.ravel(axes)[n:]:
            ax.remove()
        axes = np.ravel(axes)[:n]
    return np.ravel(axes)


def legend_beside(ax: Axes, **keywords: Any) -> None:
    """A legend to the right of the axes, where it cannot cover a line."""
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, **keywords)


def state_colour(state: int) -> Any:
    """The colour of a state, the same in all pictures: of the first ten that of its line, "C0"."""
    import matplotlib as mpl

    return mpl.colormaps["tab20"](2 * state % 20 + state // 10 % 2)


def algorithm_colours(names: Iterable[str]) -> list[Any]:
    """Colours of curves by the algorithms that their names contain, the same in all pictures.

    A second and a third curve of one algorithm are lighter and darker.

    Parameters
    ----------
    names : iterable of str
        Such as "EM", "CVB sequence", "VB, alpha 1" or "GibbsHMM".

    Returns
    -------
    list of color
        One for each name. Names of no algorithm get colours that no algorithm has, or those of
        Matplotlib if all are such.

    Examples
    --------
    >>> from sklearn_cvb.plotting import algorithm_colours
    >>> algorithm_colours(["EM", "CVB", "hmmlearn"])
    ['tab:blue', 'tab:red', 'tab:brown']
    """
    names = list(names)
    own = [next((c for what, c in _ALGORITHMS if re.search(what, name)), None) for name in names]
    if not any(own):
        return [f"C{i}" for i in range(len(names))]
    others = itertools.cycle(("tab:brown", "tab:olive", "tab:cyan", "tab:grey"))
    found: list[Any] = []
    for i, colour in enumerate(own):
        found.append(next(others) if colour is None else _shade(colour, own[:i].count(colour)))
    return found


def _shade(colour: str, n_before: int) -> Any:
    """A colour as it is, halfway to white, then darker."""
    from matplotlib.colors import to_rgb

    if n_before == 0:
        return colour
    end, share = ((1.0, 0.5), (0.0, 0.4))[(n_before - 1) % 2]
    return tuple(share * end + (1.0 - share) * part for part in to_rgb(colour))


def state_name(state: int, labels: Sequence[Any] | Mapping[int, Any] | None) -> str:
    """The name of a state in a legend."""
    return f"state {state}" if labels is None else str(labels[state])


def name_cells(axis: Axis, n: int, labels: Sequence[Any] | None, name: str) -> None:
    """Put a name, or else a number, at each of n cells; upright where they are long."""
    if labels is not None and len(labels) != n:
        raise ValueError(f"{len(labels)} {name} for {n} cells")
    texts = [str(label) for label in (range(n) if labels is None else labels)]
    axis.set_ticks(range(n), labels=texts)
    inches = axis.axes.get_window_extent().width / axis.axes.figure.dpi
    if axis.axis_name == "x" and sum(map(len, texts)) + n > _LETTERS_PER_INCH * inches:
        axis.set_tick_params(rotation=90)


def number_cells(
    ax: Axes, shares: np.ndarray, rows: Sequence[Any], columns: Sequence[Any], least: float = 0.0
) -> None:
    """Draw a table of shares: cells as dark as they are large, with their per cents."""
    ax.imshow(100 * shares, cmap="Blues", vmin=0, vmax=100, aspect="auto")
    for (row, column), share in np.ndenumerate(shares):
        if share >= max(least, _SMALLEST_SHARE):
            shade = "white" if share > 0.5 else "black"
            text = f"{100 * share:.0f}"
            ax.text(column, row, text, ha="center", va="center", color=shade, fontsize=8)
    name_cells(ax.xaxis, len(columns), columns, "columns")
    name_cells(ax.yaxis, len(rows), rows, "rows")
