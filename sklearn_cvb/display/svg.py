"""A drawing as SVG: no script, no outside font, and the colour of the text around it."""

from __future__ import annotations

import re
from html import escape

from sklearn_cvb.display.arcs import (
    CAPTION,
    COLOURS,
    DASHES,
    SIZES,
    STROKE,
    TAG,
    Drawing,
    Point,
    Stroke,
)

_PIXELS = 16
# Paper and ink change together, with the reader's light or dark scheme.
SCHEME = "<style>svg{color-scheme:light dark;color:CanvasText;background:Canvas}</style>"
# XML has no way to write these.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def svg_of(drawing: Drawing, description: str, standalone: bool) -> str:
    """Write a drawing.

    Parameters
    ----------
    drawing : Drawing
    description : str
        For those who cannot see it.
    standalone : bool
        Whether it brings its own paper; else it stands in a page and takes the page's colour.

    Returns
    -------
    str
    """
    width, height = (round(_PIXELS * x, 1) for x in (drawing.width, drawing.top - drawing.bottom))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" style="max-width:none" role="img" '
        f'fill="currentColor" font-family="system-ui, sans-serif" text-anchor="middle">',
        f"<title>{quoted(description)}</title>",
    ]
    if standalone:
        lines.append(SCHEME)
    lines += [_stroke(stroke, drawing.top) for stroke in drawing.strokes]
    for text in drawing.texts:
        x, y = _place((text.x, text.y), drawing.top)
        looks = {TAG: ' opacity="0.75"', CAPTION: ' text-anchor="start"'}.get(text.kind, "")
        size = _PIXELS * SIZES[text.kind]
        lines.append(
            f'<text class="{text.kind}" x="{x}" y="{y}" font-size="{size:g}"{looks}>'
            f"{quoted(text.text)}</text>"
        )
    return "\n".join([*lines, "</svg>"])


def quoted(text: str) -> str:
    """A text as XML has it."""
    return escape(_FORBIDDEN.sub("\ufffd", text))


def _place(point: Point, top: float) -> tuple[float, float]:
    """SVG counts pixels downwards."""
    return round(_PIXELS * point[0], 1), round(_PIXELS * (top - point[1]), 1)


def _points(points: list[Point], top: float) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in (_place(point, top) for point in points))


def _stroke(stroke: Stroke, top: float) -> str:
    """A line, and its tip where it has one."""
    colour = COLOURS.get(stroke.kind, "currentColor")
    path = " ".join(letter + _points(points, top) for letter, points in stroke.steps)
    dashes = ""
    if stroke.kind in DASHES:
        lengths = ",".join(f"{_PIXELS * length:g}" for length in DASHES[stroke.kind])
        dashes = f' stroke-dasharray="{lengths}"'
    tip = f'<polygon points="{_points(stroke.tip, top)}" fill="{colour}"/>' if stroke.tip else ""
    return (
        f'<g class="{stroke.kind}"><path d="{path}" fill="none" stroke="{colour}" '
        f'stroke-width="{_PIXELS * STROKE:g}"{dashes}/>{tip}</g>'
    )
