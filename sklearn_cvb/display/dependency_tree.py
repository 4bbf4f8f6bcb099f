"""A sentence and its heads, shown as arcs in a notebook and as text on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn_cvb.display.arcs import ArcDrawing, drawing_of, levels_of, verdict, wrong_positions
from sklearn_cvb.display.svg import Picture, svg_of
from sklearn_cvb.display.texts import check_length, padded, texts_of
from sklearn_cvb.reading.corpus import is_missing

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
# By the sum of the sides to which a line goes.
_LINES = " ╵╷│╴┘┐┤╶└┌├─┴┬┼"
_TIP = "►"


class DependencyTree(Picture):
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
        self.tokens: list[str] = texts_of(tokens, "tokens")
        if not self.tokens:
            raise ValueError("tokens is empty: a tree has at least one token")
        n = len(self.tokens)
        self.heads: list[int | None] = _heads(heads, "heads", n)
        self.tags: list[str] | None = (
            None if tags is None else check_length(texts_of(tags, "tags"), "tags", n)
        )
        self.gold: list[int | None] | None = None if gold is None else _heads(gold, "gold", n)

    def __str__(self) -> str:
        return text_of(self.tokens, self.heads, self.tags, self.gold)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.tokens!r}, {self.heads!r})"

    def _svg(self, standalone: bool) -> str:
        wrong = set() if self.gold is None else set(wrong_positions(self.heads, self.gold))
        parts = []
        for child, (token, head) in enumerate(zip(self.tokens, self.heads, strict=True), 1):
            above = "unknown" if head is None else self.tokens[head - 1] if head else "root"
            parts.append(f"{token} ← {above}{' (wrong)' if child in wrong else ''}")
        return svg_of(self.drawing(), "Dependency tree: " + ", ".join(parts), standalone)

    def drawing(self) -> ArcDrawing:
        """Texts and strokes with their places, for those who draw."""
        return drawing_of(self.tokens, self.heads, self.tags, self.gold)


def _heads(given: Any, name: str, n: int) -> list[int | None]:
    """Heads as integers, None where not known."""
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise TypeError(
            f"{name} is {given!r}: give a sequence of positions, from 1, 0 for the root"
        )
    heads: list[int | None] = []
    for t, head in enumerate(check_length(list(given), name, n)):
        if is_missing(head):
            heads.append(None)
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
        heads.append(None if position == -1 else position)
    return heads


def text_of(
    words: Sequence[str],
    heads: Sequence[int | None],
    tags: Sequence[str] | None = None,
    gold: Sequence[int | None] | None = None,
) -> str:
    """Write a tree.

    >>> from sklearn_cvb.display.dependency_tree import text_of
    >>> print(text_of(["she", "sees", "the", "cat"], [2, 0, 4, 2]))
    1   ┌─► she
    2 ┌─┴── sees  root
    3 │ ┌─► the
    4 └─┴─► cat
    """
    widest = len(str(len(words)))
    numbers = [str(number).rjust(widest) for number in range(1, len(words) + 1)]
    columns = [numbers, _arcs(heads), padded(words)]
    if tags is not None:
        columns.append(padded(tags))
    separators = [" ", " ", "  ", "  "]
    notes = [{0: "root", None: "head not known"}.get(head, "") for head in heads]
    columns.append(padded(notes))
    if gold is not None:
        wrong = set(wrong_positions(heads, gold))
        marks = [
            f"wrong, gold: {true or 'root'}" if child in wrong else ""
            for child, true in enumerate(gold, 1)
        ]
        columns.append(marks)
    lines = []
    for cells in zip(*columns, strict=True):
        line = cells[0]
        for separator, cell in zip([*separators, "  "], cells[1:], strict=False):
            line += separator + cell
        lines.append(line.rstrip())
    if gold is not None:
        lines.append(verdict(heads, gold, in_picture=False))
    return "\n".join(lines)


def _arcs(heads: Sequence[int | None]) -> list[str]:
    """The arcs of each line; the longest begin on the left."""
    joined = [(child, head) for child, head in enumerate(heads, 1) if head]
    # One line through several arcs would not tell who is whose head.
    levels = levels_of([(min(pair), max(pair)) for pair in joined], part_ends=True)
    width = 2 * max(levels, default=0)
    sides = [[0] * width for _ in heads]
    for pair, level in zip(joined, levels, strict=True):
        first, last, place = min(pair) - 1, max(pair) - 1, width - 2 * level
        sides[first][place] |= _DOWN | _RIGHT
        sides[last][place] |= _UP | _RIGHT
        for row in range(first + 1, last):
            sides[row][place] |= _UP | _DOWN
        for row in (first, last):
            for x in range(place + 1, width):
                sides[row][x] |= _LEFT | _RIGHT
    children = {child - 1 for child, _ in joined}
    return [
        "".join(_LINES[cell] for cell in row)
        + (_TIP if t in children else _LINES[row[-1] & (_LEFT | _RIGHT)] if width else "")
        for t, row in enumerate(sides)
    ]
