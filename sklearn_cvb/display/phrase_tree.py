"""A constituent tree, shown as a picture in a notebook and as text on a terminal."""

from __future__ import annotations

from typing import Any, NamedTuple

from sklearn_cvb.display.arcs import ARC, SIZES, TAG, WORD, ArcDrawing, PlacedText, Stroke, width_of
from sklearn_cvb.display.svg import Picture, svg_of
from sklearn_cvb.display.texts import text_of_one

# In units of the font's size: between words, from level to level, around all, between a line's
# end and the text there, and how high letters stand and hang.
_GAP, _LEVEL, _MARGIN, _AWAY = 0.6, 2.0, 0.4, 0.2
_ASCENT, _DESCENT = 0.95, 0.3


class Node(NamedTuple):
    """A label or word, its children, its first and last column, and its height above the words."""

    text: str
    children: list[Node]
    first: int
    last: int
    height: int


class PhraseTree(Picture):
    """A constituent tree to look at: that of a grammar, or of a treebank.

    A notebook shows words in a row and labels above them; ``print`` shows brackets, a
    constituent a line where a line does not hold them all.

    Parameters
    ----------
    tree : nltk.Tree or str
        A tree, as `predict` and `parse` of grammars give it, or brackets.

    Raises
    ------
    TypeError
        If it is no tree.

    Examples
    --------
    >>> from sklearn_cvb.display import PhraseTree
    >>> tree = PhraseTree("(S (NP they) (VP (V saw) (NP (Det the) (N duck))))")
    >>> print(tree)
    (S (NP they) (VP (V saw) (NP (Det the) (N duck))))
    >>> tree.to_svg()[:4]
    '<svg'
    """

    def __init__(self, tree: Any) -> None:
        from nltk import Tree

        self.tree: Any = Tree.fromstring(tree) if isinstance(tree, str) else tree
        if not isinstance(self.tree, Tree):
            raise TypeError(f"tree is {tree!r}: give an nltk.Tree, or brackets such as '(S (A b))'")

    def drawing(self) -> ArcDrawing:
        """Texts and strokes with their places, for those who draw."""
        return drawing_of(node_of(self.tree))

    def __str__(self) -> str:
        return _with_texts(self.tree).pformat()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._line()!r})"

    def _line(self) -> str:
        return _with_texts(self.tree).pformat(margin=10**9)

    def _svg(self, standalone: bool) -> str:
        description = f"Tree: {text_of_one(self._line())}"
        return svg_of(self.drawing(), description, standalone)


def _with_texts(tree: Any) -> Any:
    """The tree with texts for words that are tuples, which nltk joins."""
    if hasattr(tree, "label"):
        return type(tree)(tree.label(), map(_with_texts, tree))
    return tuple(map(str, tree)) if isinstance(tree, tuple) else tree


def node_of(tree: Any, first: int = 0) -> Node:
    """A tree whose words are numbered from `first`; what is empty keeps a column, too."""
    if not hasattr(tree, "label"):
        return Node(text_of_one(tree), [], first, first, 0)
    children, column = [], first
    for part in tree:
        children.append(node_of(part, column))
        column = children[-1].last + 1
    height = 1 + max((child.height for child in children), default=0)
    return Node(text_of_one(tree.label()), children, first, max(first, column - 1), height)


def drawing_of(root: Node) -> ArcDrawing:
    """Lay out a tree: each label in the middle above its words, high enough for all below it."""
    ends = [_MARGIN]
    for width in _widths(root):
        ends.append(ends[-1] + width)
    texts: list[PlacedText] = []
    strokes: list[Stroke] = []
    todo = [root]
    while todo:
        node = todo.pop()
        kind = TAG if node.height else WORD
        x, y = _place_node(node, ends)
        texts.append(PlacedText(kind, x, y, node.text))
        foot = y - _DESCENT * SIZES[TAG] - _AWAY
        for child in node.children:
            # Along and then straight down, where nothing else stands.
            a, b = _place_node(child, ends)
            bar, top = foot - _AWAY, b + _ASCENT * SIZES[TAG if child.height else WORD] + _AWAY
            points = [(x, foot), (x, bar), (a, bar), (a, top)]
            strokes.append(Stroke(ARC, [("ML"[i > 0], [p]) for i, p in enumerate(points)], []))
        todo += reversed(node.children)
    top = root.height * _LEVEL + _ASCENT + _MARGIN
    return ArcDrawing(ends[-1] + _MARGIN, -_DESCENT - _MARGIN, top, texts, strokes)


def _place_node(node: Node, ends: list[float]) -> tuple[float, float]:
    return (ends[node.first] + ends[node.last + 1]) / 2, node.height * _LEVEL


def _widths(root: Node) -> list[float]:
    """A width for each column, so that no two texts of a level touch."""
    widths = [0.0] * (root.last + 1)
    todo = [root]
    while todo:
        node = todo.pop()
        needed = width_of(node.text) * SIZES[TAG if node.height else WORD] + _GAP
        share = needed / (node.last - node.first + 1)
        for column in range(node.first, node.last + 1):
            widths[column] = max(widths[column], share)
        todo += node.children
    return widths
