"""A dependency tree as lines of text: a token a line, arcs to its left."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from sklearn_cvb.display.arcs import levels_of, verdict, wrong_of

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
# By the sum of the sides to which a line goes.
_LINES = " ╵╷│╴┘┐┤╶└┌├─┴┬┼"
_TIP = "►"


def text_of(
    words: Sequence[str],
    heads: Sequence[int | None],
    tags: Sequence[str] | None = None,
    gold: Sequence[int | None] | None = None,
) -> str:
    """Write a tree.

    Parameters
    ----------
    words : sequence of str
    heads : sequence of (int or None)
        Positions from 1, 0 for the root, None where not known.
    tags, gold : sequence, default=None

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn_cvb.display.terminal import text_of
    >>> print(text_of(["she", "sees", "the", "cat"], [2, 0, 4, 2]))
    1   ┌─► she
    2 ┌─┴── sees  root
    3 │ ┌─► the
    4 └─┴─► cat
    """
    numbers = [str(number) for number in range(1, len(words) + 1)]
    columns = [_right(numbers), _arcs(heads), padded(words)]
    if tags is not None:
        columns.append(padded(tags))
    separators = [" ", " ", "  ", "  "]
    notes = [{0: "root", None: "head not known"}.get(head, "") for head in heads]
    columns.append(padded(notes))
    if gold is not None:
        wrong = set(wrong_of(heads, gold))
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


def _right(cells: Sequence[str]) -> list[str]:
    width = max(map(len, cells))
    return [cell.rjust(width) for cell in cells]


def padded(cells: Sequence[str]) -> list[str]:
    """Texts with blanks after them, all as wide as the widest."""
    width = max(map(n_columns, cells))
    return [cell + " " * (width - n_columns(cell)) for cell in cells]


def n_columns(text: str) -> int:
    """Columns of a terminal that a text takes."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )
