"""Link posteriors of two sentences as circles, gold links as squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sklearn_cvb.display import AlignedSentences
from sklearn_cvb.display.aligned_sentences import HALF_SQUARE
from sklearn_cvb.display.arcs import COLOURS, GOLD
from sklearn_cvb.plotting.axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches of a cell, and of words and room beside them.
_CELL, _WORDS = 0.3, 1.4


def plot_alignment(
    source: Sequence[Any],
    target: Sequence[Any],
    links: Any,
    *,
    gold: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw link posteriors as circles and gold links as squares.

    Parameters
    ----------
    source, target : sequence
        Words.
    links : ndarray of shape (n_target, n_source + 1), or sequence
        Link posteriors as `predict_proba` gives them; or the source position of each target word,
        as `predict` does, -1 for none; or links (source, target).
    gold : collection of (source, target) or None, default=None
        Links that are right.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None for new axes.

    Returns
    -------
    matplotlib.axes.Axes
        A column for each source word, a row for each target word; areas of circles are posteriors.

    Raises
    ------
    TypeError
        If a sentence is a string, or links are none.
    ValueError
        If a sentence is empty, shapes differ, or a link lies outside the sentences.

    See Also
    --------
    sklearn_cvb.display.AlignedSentences : The same picture in a notebook, and as text.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn_cvb.plotting import plot_alignment
    >>> ax = plot_alignment(["the", "house"], ["la", "casa"], [0, 1], gold=[(0, 0), (1, 1)])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['la', 'casa']
    """
    from matplotlib import rcParams
    from matplotlib.patches import Circle, Rectangle

    aligned = AlignedSentences(source, target, links, gold=gold)
    n, m = len(aligned.source), len(aligned.target)
    ax = axes_or_new(ax, figsize=(_WORDS + _CELL * n, _WORDS + _CELL * m))
    ax.set(xlim=(-0.5, n - 0.5), ylim=(m - 0.5, -0.5), aspect="equal")
    # A dollar sign is a word.
    ax.set_xticks(range(n), labels=aligned.source, rotation=90, parse_math=False)
    ax.set_yticks(range(m), labels=aligned.target, parse_math=False)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.set_xticks([i - 0.5 for i in range(1, n)], minor=True)
    ax.set_yticks([j - 0.5 for j in range(1, m)], minor=True)
    ax.tick_params(which="minor", length=0)
    ax.grid(which="minor", alpha=0.3, linewidth=0.5)
    ink = rcParams["text.color"]
    for circle in aligned.circles():
        ax.add_patch(Circle((circle.column, circle.row), circle.radius, color=ink, linewidth=0))
    for column, row in aligned.squares():
        corner = column - HALF_SQUARE, row - HALF_SQUARE
        side = 2 * HALF_SQUARE
        ax.add_patch(
            Rectangle(corner, side, side, fill=False, edgecolor=COLOURS[GOLD], linewidth=2)
        )
    return ax
