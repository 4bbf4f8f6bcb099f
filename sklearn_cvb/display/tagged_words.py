"""Words with their tags as text: marks say what told a tag, and a legend what marks say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sklearn_cvb.display.arguments import text_of_one
from sklearn_cvb.display.terminal import n_columns
from sklearn_cvb.reading.corpus import is_missing

# What told a tag (see `tag_sources` of taggers), its mark, and what the mark says.
SOURCES = {
    "dictionary": ("", "one tag in the dictionary"),
    "ambiguous": ("⁺", "several tags in the dictionary"),
    "seen": ("†", "not in the dictionary: seen with labels"),
    "form": ("≈", "in neither dictionary nor labels: guessed by form"),
    "open": ("…", "in neither dictionary nor labels: any open tag"),
    "label": ("✓", "label given"),
}
DROPPED, UNSURE = "⁻", "?"
_UNSURE_BELOW = 0.5

# Codes of terminals, in colours that show on light and dark ground.
_BOLD, _ON_RED, _RESET = "1", "1;97;41", "\x1b[0m"
_CODES = {"ambiguous": "36", "form": "35", "open": "35", "seen": "32", "label": "32"}


class TaggedWord(NamedTuple):
    """A word and its tag.

    Attributes
    ----------
    word, tag : str
    gold : str or None
        None where it equals the tag or is not known.
    source : str or None
        What told the tag, one of `SOURCES`.
    dropped : tuple of str
        Tags that the word's entry has lost.
    probability : float or None
        Posterior of the tag.
    """

    word: str
    tag: str
    gold: str | None = None
    source: str | None = None
    dropped: tuple[str, ...] = ()
    probability: float | None = None

    @property
    def is_unsure(self) -> bool:
        """Whether all other tags together are more likely."""
        return self.probability is not None and self.probability < _UNSURE_BELOW

    @property
    def marks(self) -> str:
        """All marks of its tag."""
        marks = "" if self.source is None else SOURCES[self.source][0]
        return marks + DROPPED * bool(self.dropped) + UNSURE * self.is_unsure


def compare(words: Sequence[Any], tags: Sequence, gold: Sequence) -> list[TaggedWord]:
    """Put words, tags and gold tags together.

    Parameters
    ----------
    words, tags, gold : sequence
        Of one sentence; gold tags may be missing.

    Returns
    -------
    list of TaggedWord
    """
    return [
        TaggedWord(
            text_of_one(word),
            text_of_one(tag),
            None if is_missing(true) or true == tag else text_of_one(true),
        )
        for word, tag, true in zip(words, tags, gold, strict=True)
    ]


def legend_of(words: Sequence[TaggedWord]) -> list[tuple[str, str]]:
    """The marks of some words, and what they say."""
    sources = {word.source for word in words}
    lines = [
        (mark or "no mark:", said) for name, (mark, said) in SOURCES.items() if name in sources
    ]
    dropped = dict.fromkeys((word.word, word.dropped) for word in words if word.dropped)
    if dropped:
        listed = ", ".join(f"{word} ({', '.join(tags)})" for word, tags in dropped)
        lines.append((DROPPED, f"tags dropped from the dictionary: {listed}"))
    if any(word.is_unsure for word in words):
        lines.append((UNSURE, f"posterior below {_UNSURE_BELOW}"))
    return lines


def verdict(words: Sequence[TaggedWord], n_known: int, how_shown: str) -> str:
    """How many tags are right, and how those that are not are shown."""
    n_wrong = sum(word.gold is not None for word in words)
    said = f"{n_known - n_wrong} of {n_known} tags right"
    return f"{said}; {how_shown}" if n_wrong else said


class Piece(NamedTuple):
    """A part of a line, and the code of a terminal that it gets."""

    text: str
    code: str = ""


def text_of(words: Sequence[TaggedWord], width: int, colour: bool = False) -> str:
    """Write a sentence as words, tags and marks, gold tags in brackets.

    Parameters
    ----------
    words : sequence of TaggedWord
    width : int
        Columns after which a line is broken, between words.
    colour : bool, default=False
        Whether to colour it by codes of a terminal.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn_cvb.display.tagged_words import TaggedWord, text_of
    >>> words = [TaggedWord("a", "DT"), TaggedWord("can", "MD", "NN", "ambiguous")]
    >>> print(text_of(words, 80))
    a/DT can/MD⁺[NN]
    """
    return _filled(map(_pieces, words), width, colour)


def legend_text(words: Sequence[TaggedWord], width: int) -> str:
    """The legend, a line for each mark; empty without marks."""
    lines = (f"{mark} {said}".split() for mark, said in legend_of(words))
    filled = [_filled(([Piece(part)] for part in line), width, False, "  ") for line in lines]
    return "\n".join(filled)


def _pieces(word: TaggedWord) -> list[Piece]:
    pieces = [
        Piece(word.word, _BOLD),
        Piece("/"),
        Piece(word.tag + word.marks, _CODES.get(word.source or "", "")),
    ]
    return pieces if word.gold is None else [*pieces, Piece(f"[{word.gold}]", _ON_RED)]


def _filled(chunks: Iterable[list[Piece]], width: int, colour: bool, indent: str = "") -> str:
    """Lines of chunks that stay whole; all lines but the first are indented."""
    lines: list[str] = []
    taken = 0
    for chunk in chunks:
        columns = sum(n_columns(piece.text) for piece in chunk)
        shown = "".join(_painted(piece) if colour else piece.text for piece in chunk)
        if lines and taken + 1 + columns <= width:
            lines[-1] += f" {shown}"
            taken += 1 + columns
        else:
            before = indent if lines else ""
            lines.append(before + shown)
            taken = len(before) + columns
    return "\n".join(lines)


def _painted(piece: Piece) -> str:
    return f"\x1b[{piece.code}m{piece.text}{_RESET}" if piece.code else piece.text
