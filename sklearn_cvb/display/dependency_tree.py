"""A sentence and its heads, shown as arcs in a notebook and as text on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn_cvb.display.arcs import Drawing, drawing_of, wrong_of
from sklearn_cvb.display.arguments import of_length, texts_of
from sklearn_cvb.display.svg import svg_of
from sklearn_cvb.display.terminal import text_of
from sklearn_cvb.reading.corpus import is_missing


class DependencyTree:
    """A dependency tree to look at.

    A notebook shows arcs above the words, from each head to what depends on it; ``print`` shows
    them to the left of the words, a token a line. Crossing arcs, cycles, several roots and unknown
    heads are drawn as they are.

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

    Raises
    ------
    TypeError
        If a sentence is a string, or heads are not whole numbers.
    ValueError
        If there are no tokens, lengths differ, a head lies outside the sentence, or a token is its
        own head.

    See Also
    --------
    sklearn_cvb.plotting.plot_dependency_tree : The same picture by matplotlib.

    Examples
    --------
    >>> from sklearn_cvb.display import DependencyTree
    >>> words, tags = "she sees the cat".split(), ["PRON", "VERB", "DET", "NOUN"]
    >>> tree = DependencyTree(words, [2, 0, 2, 3], tags=tags, gold=[2, 0, 4, 2])
    >>> print(tree)
    1   ┌─► she   PRON
    2 ┌─┴── sees  VERB  root
    3 └─┬─► the   DET         wrong, gold: 4
    4   └─► cat   NOUN        wrong, gold: 2
    2 of 4 heads right
    >>> tree.to_svg()[:4]
    '<svg'
    """

    def __init__(
        self,
        tokens: Sequence[Any],
        heads: Sequence[Any],
        *,
        tags: Sequence[Any] | None = None,
        gold: Sequence[Any] | None = None,
    ) -> None:
        self.tokens = texts_of(tokens, "tokens")
        if not self.tokens:
            raise ValueError("tokens is empty: a tree has at least one token")
        n = len(self.tokens)
        self.heads = _heads(heads, "heads", n)
        self.tags = None if tags is None else of_length(texts_of(tags, "tags"), "tags", n)
        self.gold = None if gold is None else _heads(gold, "gold", n)

    def to_svg(self) -> str:
        """The picture as a file of its own.

        Returns
        -------
        str
            SVG, to be written in UTF-8; light or dark as the reader's page is.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sklearn_cvb.display import DependencyTree
        >>> svg = DependencyTree(["we", "ran"], [2, 0]).to_svg()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "tree.svg")
        ...     n_characters = path.write_text(svg, encoding="utf-8")
        """
        return svg_of(self.drawing(), self._description(), standalone=True)

    def __str__(self) -> str:
        return text_of(self.tokens, self.heads, self.tags, self.gold)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.tokens!r}, {self.heads!r})"

    def _repr_html_(self) -> str:
        """What a notebook shows; a long sentence is scrolled."""
        svg = svg_of(self.drawing(), self._description(), standalone=False)
        return f'<div style="overflow-x:auto">{svg}</div>'

    def drawing(self) -> Drawing:
        """Texts and strokes with their places, for those who draw."""
        return drawing_of(self.tokens, self.heads, self.tags, self.gold)

    def _description(self) -> str:
        """The tree in words."""
        wrong = set() if self.gold is None else set(wrong_of(self.heads, self.gold))
        parts = []
        for child, (token, head) in enumerate(zip(self.tokens, self.heads, strict=True), 1):
            above = "unknown" if head is None else self.tokens[head - 1] if head else "root"
            parts.append(f"{token} ← {above}{' (wrong)' if child in wrong else ''}")
        return "Dependency tree: " + ", ".join(parts)


def _heads(given: Any, name: str, n: int) -> list[int | None]:
    """Heads as integers, None where not known."""
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise TypeError(
            f"{name} is {given!r}: give a sequence of positions, from 1, 0 for the root"
        )
    found: list[int | None] = []
    for t, head in enumerate(of_length(list(given), name, n)):
        if is_missing(head):
            found.append(None)
            continue
        try:
            position = int(head)
        except (TypeError, ValueError):
            position = None
        if position is None or position != head:
            raise TypeError(
                f"{name}[{t}] is {head!r}: a head is a position, from 1, 0 for the root, None or "
                "-1 where it is not known"
            )
        if not -1 <= position <= n:
            raise ValueError(f"{name}[{t}] is {position}: the sentence has {n} tokens")
        if position == t + 1:
            raise ValueError(f"{name}[{t}] is {position}: the token would be its own head")
        found.append(None if position == -1 else position)
    return found
