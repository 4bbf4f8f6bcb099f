"""Dependency trees as arcs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sklearn_cvb.display import DependencyTree
from sklearn_cvb.plotting.drawings import draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    return draw(DependencyTree(tokens, heads, tags=tags, gold=gold).drawing(), ax)
