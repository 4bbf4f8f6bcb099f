"""Sentences: dependency and constituent trees, and links between words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sklearn_cvb.display import AlignedSentences, DependencyTree, PhraseTree
from sklearn_cvb.display.aligned_sentences import HALF_SQUARE
from sklearn_cvb.display.arcs import CAPTION, COLOURS, DASHES, GOLD, SIZES, STROKE, Drawing
from sklearn_cvb.plotting.axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches of a cell, and of words and room beside them.
_CELL, _WORDS = 0.3, 1.4
# Points; smaller where the axes are.
_FONT_SIZE = 10.0
_POINTS = 72.0


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


def plot_dependency_tree(
    tokens: Sequence[Any],
    heads: Sequence[Any],
    *,
    tags: Sequence[Any] | None = None,
    gold: Sequence[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a dependency tree: arcs above the words, from each head to what depends on it.

    Parameters
    ----------
    tokens : sequence
        Words, or the tags that were parsed.
    heads : sequence of int
        For each token the position of its head, from 1; 0 for the root; None or -1 where it is not
        known.
    tags : sequence, default=None
        Shown below the words.
    gold : sequence of int, default=None
        The true heads. Arcs that differ are red and dashed, and the true ones stand below the
        words, blue and dotted. Tokens whose true head is not known are left out of the count.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None for new axes.

    Returns
    -------
    matplotlib.axes.Axes
        New axes are as wide as the sentence needs; in given ones a long sentence has small letters.

    Raises
    ------
    TypeError
        If a sentence is a string, or heads are not whole numbers.
    ValueError
        If there are no tokens, lengths differ, a head lies outside the sentence, or a token is its
        own head.

    See Also
    --------
    sklearn_cvb.display.DependencyTree : The same picture in a notebook, and as text.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn_cvb.plotting import plot_dependency_tree
    >>> ax = plot_dependency_tree("she sees the cat".split(), [2, 0, 4, 2])
    >>> [text.get_text() for text in ax.texts]
    ['she', 'sees', 'the', 'cat', 'root']
    """
    return _drawn(DependencyTree(tokens, heads, tags=tags, gold=gold).drawing(), ax)


def plot_phrase_tree(tree: Any, *, ax: Axes | None = None) -> Axes:
    """Draw a constituent tree: words in a row, labels above them.

    Parameters
    ----------
    tree : nltk.Tree or str
        A tree, as `predict` and `parse` of grammars give it, or brackets.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None for new axes.

    Returns
    -------
    matplotlib.axes.Axes
        New axes are as wide as the tree needs; in given ones a wide tree has small letters.

    Raises
    ------
    TypeError
        If it is no tree.

    See Also
    --------
    sklearn_cvb.display.PhraseTree : The same picture in a notebook.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn_cvb.plotting import plot_phrase_tree
    >>> ax = plot_phrase_tree("(S (NP they) (VP swim))")
    >>> [text.get_text() for text in ax.texts]
    ['S', 'NP', 'they', 'VP', 'swim']
    """
    return _drawn(PhraseTree(tree).drawing(), ax)


def _drawn(drawing: Drawing, ax: Axes | None) -> Axes:
    """Draw texts and strokes, in new axes as large as they need or as small as given ones are."""
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
    from matplotlib.path import Path

    ink = rcParams["text.color"]
    codes = {"M": Path.MOVETO, "L": Path.LINETO, "Q": Path.CURVE3}
    for stroke in drawing.strokes:
        colour = COLOURS.get(stroke.kind, ink)
        points = [point for _, ends in stroke.steps for point in ends]
        path = Path(points, [codes[letter] for letter, ends in stroke.steps for _ in ends])
        # Dashes are in units of the line's width.
        dashes = [length / STROKE for length in DASHES.get(stroke.kind, ())]
        ax.add_patch(
            PathPatch(
                path,
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
