"""Texts of tokens and tags for display, and their width in columns of a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any


def items_of(given: Any, name: str) -> list[Any]:
    """The parts of a sequence; TypeError if it is a single text, or no collection."""
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise TypeError(
            f"{name} is {given!r}: give a sequence, such as {name}.split() of a sentence in words"
        )
    return list(given)


def texts_of(given: Any, name: str) -> list[str]:
    """The text of each part of a sequence."""
    return [text_of_one(part) for part in items_of(given, name)]


def text_of_one(part: Any) -> str:
    """A text in one line; no terminal obeys what stands in it."""
    line = " ".join(str(part).split())
    return "".join("\ufffd" if unicodedata.category(c) == "Cc" else c for c in line)


def check_length(given: list[Any], name: str, n: int) -> list[Any]:
    """The parts; ValueError unless there is one for each token."""
    if len(given) != n:
        raise ValueError(f"{name} has {len(given)} elements for {n} tokens: give one for each")
    return given


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
