"""Constituent trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn_cvb.display import PhraseTree
from sklearn_cvb.plotting.drawings import draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    return draw(PhraseTree(tree).drawing(), ax)
