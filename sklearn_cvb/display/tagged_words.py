"""Tagged words as text and HTML, with marks for the source of each tag, and their legend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sklearn_cvb.display.arcs import COLOURS as OF_ARCS
from sklearn_cvb.display.arcs import GOLD, WRONG
from sklearn_cvb.display.svg import escaped
from sklearn_cvb.display.texts import n_columns, text_of_one
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

# Codes of pages.
_GUESSED, _LABELLED = "#9a5fd0", "#238b50"
# Told from white and from black paper alike; marks, lines and places tell the same.
COLOURS = {
    WRONG: OF_ARCS[WRONG],
    GOLD: OF_ARCS[GOLD],
    "form": _GUESSED,
    "open": _GUESSED,
    "seen": _LABELLED,
    "label": _LABELLED,
}
_BESIDE = "display:inline-block;overflow-wrap:anywhere;margin:0 0.7em 0.5em 0;vertical-align:top"
_SMALL = "font-size:0.8em;line-height:1.3"


class TaggedWord(NamedTuple):
    """A word and its tag."""

    word: str
    tag: str
    gold: str | None = None  # None where it equals the tag or is not known
    source: str | None = None  # what told the tag, one of `SOURCES`
    dropped: tuple[str, ...] = ()  # tags that the word's entry has lost
    probability: float | None = None  # posterior of the tag

    @property
    def is_unsure(self) -> bool:
        """Whether all other tags together are more likely."""
        return self.probability is not None and self.probability < _UNSURE_BELOW

    @property
    def marks(self) -> str:
        """All marks of its tag."""
        marks = "" if self.source is None else SOURCES[self.source][0]
        return marks + DROPPED * bool(self.dropped) + UNSURE * self.is_unsure


def tag_words(words: Sequence[Any], tags: Sequence[Any], gold: Sequence[Any]) -> list[TaggedWord]:
    """Words with their tags and, where these differ and are known, gold tags."""
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


class StyledText(NamedTuple):
    """A part of a line, and the code of a terminal that it gets."""

    text: str
    code: str = ""


def text_of(words: Sequence[TaggedWord], width: int, colour: bool = False) -> str:
    """Write a sentence as words, tags and marks, gold tags in brackets.

    Lines are broken between words, after `width` columns; colours are codes of a terminal.

    >>> from sklearn_cvb.display.tagged_words import TaggedWord, text_of
    >>> words = [TaggedWord("a", "DT"), TaggedWord("can", "MD", "NN", "ambiguous")]
    >>> print(text_of(words, 80))
    a/DT can/MD⁺[NN]
    """
    return _fill(map(_pieces, words), width, colour)


def legend_text(words: Sequence[TaggedWord], width: int) -> str:
    """The legend, a line for each mark; empty without marks."""
    lines = (f"{mark} {said}".split() for mark, said in legend_of(words))
    filled = [_fill(([StyledText(part)] for part in line), width, False, "  ") for line in lines]
    return "\n".join(filled)


def _pieces(word: TaggedWord) -> list[StyledText]:
    pieces = [
        StyledText(word.word, _BOLD),
        StyledText("/"),
        StyledText(word.tag + word.marks, _CODES.get(word.source or "", "")),
    ]
    return pieces if word.gold is None else [*pieces, StyledText(f"[{word.gold}]", _ON_RED)]


def _fill(chunks: Iterable[list[StyledText]], width: int, colour: bool, indent: str = "") -> str:
    """Lines of chunks that stay whole; all lines but the first are indented."""
    lines: list[str] = []
    taken = 0
    for chunk in chunks:
        columns = sum(n_columns(piece.text) for piece in chunk)
        shown = "".join(
            f"\x1b[{piece.code}m{piece.text}{_RESET}" if colour and piece.code else piece.text
            for piece in chunk
        )
        if lines and taken + 1 + columns <= width:
            lines[-1] += f" {shown}"
            taken += 1 + columns
        else:
            before = indent if lines else ""
            lines.append(before + shown)
            taken = len(before) + columns
    return "\n".join(lines)


def html_of(words: Sequence[TaggedWord], said: str | None) -> str:
    """Write a sentence in a page's colours: tags below words, gold tags below those, the legend.

    `said` is how many tags are right.
    """
    lines = [
        f'<span style="margin-right:1.2em;display:inline-block"><b>{escaped(mark)}</b> '
        f"{escaped(text)}</span>"
        for mark, text in legend_of(words)
    ]
    if said is not None:
        lines.append(f'<span style="display:inline-block">{escaped(said)}</span>')
    legend = f'<div style="{_SMALL};margin-top:0.3em">{chr(10).join(lines)}</div>' if lines else ""
    tokens = "\n".join(map(_token, words))
    looks = "margin:0.5em 0;font-family:system-ui,sans-serif;line-height:1.25"
    return f'<div style="{looks}"><div>{tokens}</div>{legend}</div>'


def _token(word: TaggedWord) -> str:
    """A word above its tag; a pointer that rests on it gets both in words."""
    looks = [_SMALL, "display:block"]
    if word.gold is not None:
        looks += [f"color:{COLOURS[WRONG]}", "text-decoration:underline dashed"]
    elif word.source in COLOURS:
        looks.append(f"color:{COLOURS[word.source]}")
    rows = [
        f'<span style="display:block">{escaped(word.word)}</span>',
        f'<span style="{";".join(looks)}">{escaped(word.tag)}<b>{word.marks}</b></span>',
    ]
    if word.gold is not None:
        looks = [_SMALL, "display:block", f"color:{COLOURS[GOLD]}"]
        looks.append("text-decoration:underline dotted")
        rows.append(f'<span style="{";".join(looks)}">{escaped(word.gold)}</span>')
    return (
        f'<span style="{_BESIDE};text-align:center" title="{escaped(_description(word))}">'
        f"{''.join(rows)}</span>"
    )


def _description(word: TaggedWord) -> str:
    parts = [f"{word.word}: {word.tag}"]
    if word.gold is not None:
        parts.append(f"wrong, gold: {word.gold}")
    if word.source is not None:
        parts.append(SOURCES[word.source][1])
    if word.dropped:
        parts.append(f"dropped from the dictionary: {', '.join(word.dropped)}")
    if word.probability is not None:
        parts.append(f"posterior {word.probability:.2f}")
    return "; ".join(parts)
