"""Words with their tags as HTML: no script, no outside font, and the colour of the text around."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn_cvb.display.arcs import COLOURS as OF_ARCS
from sklearn_cvb.display.arcs import GOLD, WRONG
from sklearn_cvb.display.svg import quoted
from sklearn_cvb.display.tagged_words import SOURCES, TaggedWord, legend_of

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
_BESIDE = "display:inline-block;margin:0 0.7em 0.5em 0;vertical-align:top"
_SMALL = "font-size:0.8em;line-height:1.3"
_PAGE = (
    '<!DOCTYPE html>\n<html><head><meta charset="utf-8">'
    '<meta name="color-scheme" content="light dark"><title>{title}</title></head>\n'
    "<body>{body}</body></html>"
)


def html_of(words: Sequence[TaggedWord], said: str | None) -> str:
    """Write a sentence: tags below words, gold tags below those, and the legend.

    Parameters
    ----------
    words : sequence of TaggedWord
    said : str or None
        How many tags are right.

    Returns
    -------
    str
        What stands in a page and takes its colours.
    """
    lines = [
        f'<span style="margin-right:1.2em;display:inline-block"><b>{quoted(mark)}</b> '
        f"{quoted(text)}</span>"
        for mark, text in legend_of(words)
    ]
    if said is not None:
        lines.append(f'<span style="display:inline-block">{quoted(said)}</span>')
    legend = f'<div style="{_SMALL};margin-top:0.3em">{chr(10).join(lines)}</div>' if lines else ""
    tokens = "\n".join(map(_token, words))
    looks = "font-family:system-ui,sans-serif;line-height:1.25;overflow-wrap:anywhere"
    return f'<div style="{looks}"><div>{tokens}</div>{legend}</div>'


def page_of(body: str, title: str) -> str:
    """A page of its own, light or dark as its reader's others are."""
    return _PAGE.format(title=quoted(title), body=body)


def _token(word: TaggedWord) -> str:
    """A word above its tag; a pointer that rests on it gets both in words."""
    looks = [_SMALL, "display:block"]
    if word.gold is not None:
        looks += [f"color:{COLOURS[WRONG]}", "text-decoration:underline dashed"]
    elif word.source in COLOURS:
        looks.append(f"color:{COLOURS[word.source]}")
    rows = [
        f'<span style="display:block">{quoted(word.word)}</span>',
        f'<span style="{";".join(looks)}">{quoted(word.tag)}<b>{word.marks}</b></span>',
    ]
    if word.gold is not None:
        looks = [_SMALL, "display:block", f"color:{COLOURS[GOLD]}"]
        looks.append("text-decoration:underline dotted")
        rows.append(f'<span style="{";".join(looks)}">{quoted(word.gold)}</span>')
    return (
        f'<span style="{_BESIDE};text-align:center" title="{quoted(_description(word))}">'
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
