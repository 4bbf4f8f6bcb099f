"""Where words and arcs of a dependency tree stand, in units of the font's size.

x runs to the right, y upwards from the feet of the arcs. SVG and matplotlib draw the same.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

# What a stroke or a text is; the two that draw choose a style for each.
ARC, WRONG, GOLD = "arc", "wrong", "gold"
WORD, TAG, NOTE, CAPTION = "word", "tag", "note", "caption"

SIZES = {WORD: 1.0, TAG: 0.75, NOTE: 0.75, CAPTION: 0.75}
# One red and one blue that are told from white and from black paper alike; wrong arcs are dashed
# and gold ones dotted as well.
COLOURS = {WRONG: "#d1422f", GOLD: "#2f7fc1"}
DASHES = {WRONG: (0.45, 0.25), GOLD: (0.1, 0.2)}
STROKE = 0.085

_GAP, _NARROWEST, _MARGIN = 0.8, 1.7, 0.4
# Of arcs: the lowest one's height, a level's, the corner's radius, how far from the middle of its
# head an arc begins, and the point of an arrow.
_LOWEST, _STEP, _CORNER, _ASIDE = 1.15, 0.75, 0.6, 0.3
_TIP_LENGTH, _TIP_HALF = 0.45, 0.19
_ASCENT, _DESCENT, _CLEARANCE = 0.95, 0.3, 0.2

_WIDE_LETTERS = frozenset("mwMW@%")

Point = tuple[float, float]


class PlacedText(NamedTuple):
    """A text around `x` (a caption from `x` on), standing on `y`."""

    kind: str
    x: float
    y: float
    text: str


class Stroke(NamedTuple):
    """A line: steps ("M", "L" or "Q" and their points, as in SVG), and the corners of its tip."""

    kind: str
    steps: list[tuple[str, list[Point]]]
    tip: list[Point]


class ArcDrawing(NamedTuple):
    """All texts and strokes, and the box around them: from 0 to `width`, `bottom` to `top`."""

    width: float
    bottom: float
    top: float
    texts: list[PlacedText]
    strokes: list[Stroke]


def levels_of(spans: Sequence[tuple[int, int]], part_ends: bool = False) -> list[int]:
    """Heights of arcs, from 1: an arc is above all shorter ones that share some way with it.

    With `part_ends`, arcs that share no more than an end have different heights, too.

    >>> from sklearn_cvb.display.arcs import levels_of
    >>> levels_of([(1, 4), (2, 3), (4, 5)])
    [2, 1, 1]
    """
    levels = [0] * len(spans)
    placed: list[int] = []
    for i in sorted(range(len(spans)), key=lambda i: spans[i][1] - spans[i][0]):
        first, last = spans[i]
        beneath = [levels[j] for j in placed if spans[j][0] < last and first < spans[j][1]]
        level = 1 + max(beneath, default=0)
        if part_ends:
            taken = {levels[j] for j in placed if spans[j][0] == last or first == spans[j][1]}
            while level in taken:
                level += 1
        levels[i] = level
        placed.append(i)
    return levels


def width_of(text: str) -> float:
    """Width of a text, at most, in units of its font's size: no font is known here."""
    return sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if unicodedata.combining(letter) or unicodedata.category(letter) == "Cf":
        return 0.0
    if letter in _WIDE_LETTERS or unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    return 0.8 if letter.isupper() else 0.65


def drawing_of(
    words: Sequence[str],
    heads: Sequence[int | None],
    tags: Sequence[str] | None = None,
    gold: Sequence[int | None] | None = None,
) -> ArcDrawing:
    """Lay out a sentence: arcs above its words, and below them the gold arcs that are missing.

    Heads are positions from 1, 0 for the root, None where not known.
    """
    columns = [words] if tags is None else [words, tags]
    middles: list[float] = []
    width = _MARGIN
    for stacked in zip(*columns, strict=True):
        widths = [width_of(t) * SIZES[kind] for t, kind in zip(stacked, (WORD, TAG), strict=False)]
        needed = max(*widths, _NARROWEST) + _GAP
        middles.append(width + needed / 2)
        width += needed
    width += _MARGIN
    texts = []
    floor = -_CLEARANCE
    for kind, column in zip((WORD, TAG), columns, strict=False):
        line = floor - _ASCENT * SIZES[kind]
        texts += [PlacedText(kind, x, line, text) for x, text in zip(middles, column, strict=True)]
        floor = line - _DESCENT * SIZES[kind]
    wrong = [] if gold is None else wrong_positions(heads, gold)
    kinds = dict.fromkeys(wrong, WRONG)
    strokes, above, top = _arcs(dict(enumerate(heads, 1)), kinds, middles, 0.0, 1)
    texts += above
    bottom = floor
    if gold is not None:
        if wrong:
            missing = {child: gold[child - 1] for child in wrong}
            feet = floor - _CLEARANCE
            below = _arcs(missing, dict.fromkeys(wrong, GOLD), middles, feet, -1)
            strokes, texts, bottom = strokes + below[0], texts + below[1], below[2]
        said = verdict(heads, gold, in_picture=True)
        width = max(width, width_of(said) * SIZES[CAPTION] + 2 * _MARGIN)
        line = bottom - 2 * _CLEARANCE - _ASCENT * SIZES[CAPTION]
        texts.append(PlacedText(CAPTION, _MARGIN, line, said))
        bottom = line - _DESCENT * SIZES[CAPTION]
    return ArcDrawing(width, bottom - _MARGIN, top + _MARGIN, texts, strokes)


def wrong_positions(heads: Sequence[int | None], gold: Sequence[int | None]) -> list[int]:
    """Positions, from 1, of tokens whose gold head is known and is another one."""
    pairs = enumerate(zip(heads, gold, strict=True), 1)
    return [child for child, (found, true) in pairs if true is not None and found != true]


def verdict(heads: Sequence[int | None], gold: Sequence[int | None], in_picture: bool) -> str:
    """How many heads are right, and how a picture shows those that are not."""
    n_wrong, n_known = len(wrong_positions(heads, gold)), sum(true is not None for true in gold)
    said = f"{n_known - n_wrong} of {n_known} heads right"
    return f"{said}; dashed: wrong; below: gold" if n_wrong and in_picture else said


def _arcs(
    heads: dict[int, int | None], kinds: dict[int, str], middles: list[float], feet: float, up: int
) -> tuple[list[Stroke], list[PlacedText], float]:
    """Arcs on one side of the words (`up` is 1 or -1), what stands at them, and how far they go."""
    joined = [(child, head) for child, head in heads.items() if head]
    levels = levels_of([(min(pair), max(pair)) for pair in joined])
    far = feet + up * (_LOWEST + _STEP * max(levels, default=0))
    strokes = []
    for (child, head), level in zip(joined, levels, strict=True):
        tip = middles[child - 1]
        foot = middles[head - 1] + math.copysign(_ASIDE, child - head)
        height = feet + up * (_LOWEST + _STEP * (level - 1))
        steps = _steps(foot, tip, feet, height)
        strokes.append(Stroke(kinds.get(child, ARC), steps, _arrow_tip(tip, feet, up)))
    texts, end = [], far if joined else feet
    for child, above in heads.items():
        x = middles[child - 1]
        if above == 0:
            line: list[tuple[str, list[Point]]] = [
                ("M", [(x, far)]),
                ("L", [(x, feet + up * _TIP_LENGTH)]),
            ]
            strokes.append(Stroke(kinds.get(child, ARC), line, _arrow_tip(x, feet, up)))
            texts.append(_text_beyond_tip("root", x, far, up))
        elif above is None:
            texts.append(_text_beyond_tip("?", x, feet, up))
    for note in texts:
        reach = note.y + (_ASCENT if up > 0 else -_DESCENT) * SIZES[NOTE]
        end = max(end, reach) if up > 0 else min(end, reach)
    return strokes, texts, end


def _steps(foot: float, tip: float, feet: float, height: float) -> list[tuple[str, list[Point]]]:
    """Up from the head, round a corner, along, round a corner, and down to the child."""
    corner = min(_CORNER, abs(tip - foot) / 2)
    along, up = math.copysign(corner, tip - foot), math.copysign(corner, height - feet)
    end = feet + math.copysign(_TIP_LENGTH, height - feet)
    return [
        ("M", [(foot, feet)]),
        ("L", [(foot, height - up)]),
        ("Q", [(foot, height), (foot + along, height)]),
        ("L", [(tip - along, height)]),
        ("Q", [(tip, height), (tip, height - up)]),
        ("L", [(tip, end)]),
    ]


def _arrow_tip(x: float, feet: float, up: int) -> list[Point]:
    back = feet + up * _TIP_LENGTH
    return [(x, feet), (x - _TIP_HALF, back), (x + _TIP_HALF, back)]


def _text_beyond_tip(text: str, x: float, y: float, up: int) -> PlacedText:
    """A short text beyond an end of a stroke."""
    away = 0.15 if up > 0 else -0.15 - _ASCENT * SIZES[NOTE]
    return PlacedText(NOTE, x, y + away, text)
